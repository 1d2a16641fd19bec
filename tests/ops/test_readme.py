"""The example of README.md: its commands print the shown answers, in an empty folder without a ledger."""

import re
from pathlib import Path

from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

README = (ROOT / "README.md").read_text()
_PAGES = re.compile(r"\]\((docs/[\w.-]+\.md)")


def test_the_commands_of_the_readme_print_the_shown_answers(tmp_path: Path) -> None:
    steps = Document(README, tmp_path, timeout_s=120).check()
    shown = "\n".join(line for _, told in steps for line in told)
    assert "3 jobs would run" in shown
    assert "succeeded: 3 succeeded" in shown
    assert "need not run (succeeded" in shown
    assert "no submission has requested it" in shown
    assert "Traceback" not in shown


def test_the_readme_leads_to_few_pages_and_to_the_list_of_all() -> None:
    pages = set(_PAGES.findall(README))
    assert "docs/index.md" in pages
    assert len(pages - {"docs/index.md"}) <= 5
