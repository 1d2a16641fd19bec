"""docs/listing.md: its commands print the shown answers, and its Python code runs."""

import re
from pathlib import Path

import pytest

from sluice.ledger.embedded import start
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT
from tests.world import World

TEXT = (ROOT / "docs" / "listing.md").read_text()


def test_the_commands_of_the_page_print_the_shown_answers(tmp_path: Path) -> None:
    with start(tmp_path / ".sluice", durable=False):
        steps = Document(TEXT, tmp_path, timeout_s=240).check()
    assert len(steps) > 7


def test_the_python_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    _, code = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLUICE_LEDGER_URL", world.url)
    names: dict[str, object] = {}
    exec(compile(code, "listing.md", "exec"), names)
    assert (names["failed"], names["found"]) == ([], [])
