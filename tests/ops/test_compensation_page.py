"""docs/compensation.md: its commands are run, and print the shown answers."""

from pathlib import Path

from sluice.ledger.embedded import start
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

TEXT = (ROOT / "docs" / "compensation.md").read_text()


def test_the_commands_of_the_page_print_the_shown_answers(tmp_path: Path) -> None:
    with start(tmp_path / ".sluice", durable=False):
        steps = Document(TEXT, tmp_path, timeout_s=120).check()
    assert len(steps) == 5
