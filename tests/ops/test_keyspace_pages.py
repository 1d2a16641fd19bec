"""The pages about chunks, tables and branches: their commands print the shown answers."""

from pathlib import Path

import pytest

from tests.homes import started_ledger
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT


@pytest.mark.parametrize("page", ["chunks.md", "partitions.md", "backfill.md", "branches.md"])
def test_the_commands_of_the_page_print_the_shown_answers(page: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / page).read_text()
    with started_ledger(tmp_path / ".sluice"):
        steps = Document(text, tmp_path, timeout_s=240).check(unordered="sluice run")
    assert len(steps) > 3
