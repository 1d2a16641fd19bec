"""The examples of README.md, defined and run unchanged."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.ops.typist import ROOT, Typist

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_pipelines_of_the_readme_run(tmp_path: Path) -> None:
    """One pipeline is a file, the other a folder of files."""
    section = (ROOT / "README.md").read_text().partition("## Define and run")[2].partition("\n## ")[0]
    blocks = _BLOCK.findall(section)
    for source in (text for language, text in blocks if language == "python"):
        name = re.match(r"# (\S+\.py)", source)
        assert name, "the first line of an example must name its file"
        path = tmp_path / name[1]
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    done = _in_a_shell(tmp_path, "".join(text for language, text in blocks if language == "sh"))
    assert done.returncode == 0, done.stderr
    assert "3 jobs would run" in done.stdout
    assert "succeeded: 3 succeeded" in done.stdout
    assert "has succeeded" in done.stdout
    assert "15 jobs would run" in done.stdout
    assert "succeeded: 6 succeeded" in done.stdout
    assert "02:30:00" in done.stdout.splitlines()[-1]
    assert "Traceback" not in done.stderr


def _in_a_shell(folder: Path, commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands in a shell. A script provides ``sluice``, because the package may not be installed."""
    programs = folder / "bin"
    programs.mkdir()
    sluice = programs / "sluice"
    sluice.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sluice.ops.cli.main "$@"\n')
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
