"""The pages about chunks, tables and branches: their commands print the shown answers."""

from pathlib import Path

import pytest

from tests.homes import started_ledger
from tests.ops.transcripts import Document, said
from tests.ops.typist import ROOT


@pytest.mark.parametrize("page", ["chunks.md", "partitions.md", "backfill.md", "branches.md"])
def test_the_commands_of_the_page_print_the_shown_answers(page: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / page).read_text()
    with started_ledger(tmp_path / ".sluice"):
        steps = list(Document(text, tmp_path, timeout_s=240).run())
    assert len(steps) > 3
    for step, told in steps:
        # A run lists its apps in the order in which they began. Apps that run at once may begin in any order.
        order = sorted if step.command.startswith("sluice run") else list
        assert order(map(said, told)) == order(map(said, step.answer)), step.command
