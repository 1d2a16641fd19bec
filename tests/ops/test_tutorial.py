"""The tutorial, typed from its first line to its last."""

from pathlib import Path

from sluice.ledger.embedded import start
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT


def test_the_commands_of_the_tutorial_print_the_shown_answers(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text()
    with start(tmp_path / ".sluice", durable=False):
        steps = Document(text, tmp_path).check(unordered="sluice run")
    assert len(steps) > 50
