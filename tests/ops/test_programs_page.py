"""docs/programs.md and docs/sandbox.md: the commands are run, and the definitions are loaded."""

import os
import re
import subprocess
import sys
from pathlib import Path

from sluice.jobs.catalogue import load
from sluice.ledger.embedded import start
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

PROGRAMS = (ROOT / "docs" / "programs.md").read_text()
SANDBOX = (ROOT / "docs" / "sandbox.md").read_text()


def test_the_commands_of_the_programs_page_print_the_shown_answers(tmp_path: Path) -> None:
    with start(tmp_path / ".sluice", durable=False):
        steps = Document(PROGRAMS, tmp_path, timeout_s=120).check()
    assert len(steps) == 4


def test_the_definitions_of_the_programs_page_can_be_loaded(tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", PROGRAMS, re.MULTILINE | re.DOTALL)
    loaded = []
    for at, text in enumerate(blocks):
        (tmp_path / f"apps{at}.yaml").write_text(text)
        loaded.append(load([str(tmp_path / f"apps{at}.yaml")]))
    assert [{name: catalogue[name].job_type for name in catalogue} for catalogue in loaded] == [
        {"crawl": "program"},
        {"crawl": "program"},
        {"adhoc": "program"},
    ]


def test_the_function_of_the_sandbox_page_runs_with_its_limits(tmp_path: Path) -> None:
    [text] = re.findall(r"^```python\n(.*?)^```", SANDBOX, re.MULTILINE | re.DOTALL)
    (tmp_path / "pipeline.py").write_text(text)
    outer = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    command = [sys.executable, "-m", "sluice.ops.cli.main", "--apps", "pipeline.py", "run", "--bypass"]
    ended = subprocess.run(
        [*command, "convert", "report.pdf"],
        cwd=tmp_path,
        env=outer | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
