"""docs/why.md: its commands print the shown answers, and its table has the texts of the answers."""

import re
from pathlib import Path

from tests.homes import started_ledger
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

PAGE = (ROOT / "docs" / "why.md").read_text()


def test_the_commands_print_the_shown_answers(tmp_path: Path) -> None:
    with started_ledger(tmp_path / ".sluice"):
        assert len(Document(PAGE, tmp_path, timeout_s=240).check()) == 5


def test_each_part_of_an_answer_in_the_table_is_a_text_of_the_command() -> None:
    """Names and numbers differ in each answer."""
    code = "\n".join(path.read_text() for path in (ROOT / "ops" / "why").glob("*.py"))
    _, table = PAGE.split("## Usual reasons")
    cells = re.findall(r"^\| (`[^|]*`) \|", table.partition("\n## ")[0], re.MULTILINE)
    parts = [part for cell in cells for part in re.findall(r"`([^`]+)`", cell)]
    assert len(parts) > 12
    assert [part for part in parts if not re.search(re.sub(r"APP|\b2\b", ".+", part), code)] == []
