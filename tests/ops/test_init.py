"""The project that ``sluice init`` creates: it runs unchanged, and its own tests pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ops.typist import ROOT, Typist

NAMES = {".gitignore", "README.md", "pipeline.py", "sluice.toml", "test_pipeline.py"}


@pytest.fixture
def typist(tmp_path: Path) -> Typist:
    return Typist(tmp_path)


def _in_project(typist: Typist) -> Typist:
    """Create a project and return a typist in it. A script provides ``sluice``, because the package may not be
    installed.
    """
    assert set(typist.asks("init", "shop")["files"]) == NAMES
    programs = typist.folder / "bin"
    programs.mkdir()
    sluice = programs / "sluice"
    sluice.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sluice.ops.cli.main "$@"\n')
    sluice.chmod(0o755)
    return Typist(typist.folder / "shop", PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")


def test_the_tests_of_the_project_pass(typist: Typist) -> None:
    project = _in_project(typist)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_the_project_runs_without_any_options(typist: Typist) -> None:
    project = _in_project(typist)
    ran = project.asks("run", "report", "2026-11-20")
    assert ran["jobs"] == {"succeeded": 4}
    assert (project.folder / "sales" / "20261120.txt").read_text() == "3 shops sold 391\n"
    assert project.asks("up", "--drain")["ended"] == "drained"
    assert [each["schedule"] for each in project.asks("schedules", "next")[:1]] == ["nightly"]
    assert project.types("doctor").code == 0


def test_the_commands_of_its_readme_succeed(typist: Typist) -> None:
    project = _in_project(typist)
    lines = (project.folder / "README.md").read_text().splitlines()
    assert len(lines) <= 10
    typed = [line.partition("#")[0].split() for line in lines if line.startswith("    sluice ")]
    answers = {words[1]: project.types(*words[1:]).code for words in typed if words[1] != "up"}
    assert answers == {"plan": 0, "run": 0, "why": 0, "doctor": 0}


def test_the_project_passes_our_ruff_rules(typist: Typist) -> None:
    project = _in_project(typist)
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed beside Python")
    config = ROOT / "pyproject.toml"
    check = [ruff, "check", "--no-cache", "--config", config, "--extend-ignore", "S,I,PLC", project.folder]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_existing_files_are_not_overwritten(typist: Typist) -> None:
    typist.write("pipeline.py", "mine")
    said = typist.types("init")
    assert said.code == 2
    assert "Some files exist already: pipeline.py." in said.err
    assert {path.name for path in typist.folder.iterdir()} == {"pipeline.py"}
    assert (typist.folder / "pipeline.py").read_text() == "mine"
    assert typist.types("init", "pipeline.py").code == 2, "a file is no folder"


def test_the_folder_may_have_other_files(typist: Typist) -> None:
    typist.write("notes.txt", "mine")
    assert typist.types("init", ".").code == 0
    assert {path.name for path in typist.folder.iterdir()} == NAMES | {"notes.txt"}


def test_the_project_passes_mypy_in_strict_mode(typist: Typist) -> None:
    project = _in_project(typist)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir=mypy", "."],
        cwd=project.folder,
        env=project.environment | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
