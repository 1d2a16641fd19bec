"""docs/sagas.md: its commands are run, its definitions loaded, and its test passes."""

import os
import subprocess
import sys
from pathlib import Path

from sluice.ledger.embedded import start
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

TEXT = (ROOT / "docs" / "sagas.md").read_text()


def test_the_commands_of_the_page_print_the_shown_answers(tmp_path: Path) -> None:
    with start(tmp_path / ".sluice", durable=False):
        steps = Document(TEXT, tmp_path, timeout_s=240).check()
    assert len(steps) > 15
    _checked(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", "test_orders.py")
    _checked(tmp_path, "sluice.ops.cli.main", "--apps", "watched.py", "run", "--bypass", "trip", "1")


def _checked(folder: Path, *words: str) -> None:
    outer = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    path = os.pathsep.join([str(ROOT), str(folder)])
    subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=outer | {"PYTHONPATH": path}, check=True, timeout=120
    )
