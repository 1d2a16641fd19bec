"""docs/testing.md: its examples run unchanged in a user's own project."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "testing.md").read_text()
FAILS = """
from sluice.testing import Faults

def test_nothing_ever_goes_wrong(pipeline):
    run = pipeline("pipeline.py", faults=Faults(lose=0.5))
    run.submit("report", "2026-11-20")
    run.until_quiet()
    assert run.faults() == []
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with the files of the page and a ``pytest.ini``."""
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / code.split("\n")[0].removeprefix("# ")).write_text(code)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_the_shown_tests_pass_and_a_failure_prints_its_replay_command(project: Path) -> None:
    (project / "test_failing.py").write_text(FAILS)
    done = _pytest(project)
    assert "1 failed, 7 passed" in done, done
    assert 'replay: python -m pytest "test_failing.py::test_nothing_ever_goes_wrong" --sluice-seed 0' in done
    assert "the notification to run fetch/20261120_" in done
    assert " is lost" in done
    many = _pytest(project, "--sluice-seeds", "2", "test_failing.py")
    assert "2 failed" in many, many
    assert 'test_failing.py::test_nothing_ever_goes_wrong[seed1]" --sluice-seeds 2' in many


def _pytest(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=280)
    return done.stdout + done.stderr
