"""What README.md has people define and run, as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.ops.typist import ROOT, Typist

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_first_pipeline_of_the_readme_runs(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text().partition("## Define and run")[2].partition("\n## ")[0]
    (_, source), (_, commands) = _BLOCK.findall(section)
    name = re.match(r"# (\S+\.py)", source)
    assert name, "the first line of the example says which file it is"
    (tmp_path / name[1]).write_text(source)
    done = _in_a_shell(tmp_path, commands)
    assert done.returncode == 0, done.stderr
    assert "3 jobs would run" in done.stdout
    assert "succeeded: 3 succeeded" in done.stdout
    assert "has succeeded" in done.stdout
    assert "Traceback" not in done.stderr


def _in_a_shell(folder: Path, commands: str) -> subprocess.CompletedProcess[str]:
    """Where the package is not installed, a script of its name starts the command."""
    programs = folder / "bin"
    programs.mkdir()
    sluice = programs / "sluice"
    sluice.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ops.cli.main "$@"\n')
    sluice.chmod(0o755)
    typist = Typist(folder)
    return subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=folder,
        env=typist.environment | {"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
