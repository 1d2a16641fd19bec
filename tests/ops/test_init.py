"""The project that ``sluice init`` makes: it runs as it is, and its own tests pass."""

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
    """Somebody who has made one, and types in it; ``sluice`` is there also where it is not installed."""
    assert set(typist.asks("init", "shop")["files"]) == NAMES
    programs = typist.folder / "bin"
    programs.mkdir()
    sluice = programs / "sluice"
    sluice.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sluice.ops.cli.main "$@"\n')
    sluice.chmod(0o755)
    return Typist(typist.folder / "shop", PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")


def test_its_own_tests_pass(typist: Typist) -> None:
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


def test_it_runs_with_nothing_said(typist: Typist) -> None:
    project = _in_project(typist)
    ran = project.asks("run", "report", "2026-11-20")
    assert ran["jobs"] == {"succeeded": 4}
    assert (project.folder / "sales" / "20261120.txt").read_text() == "3 shops sold 391\n"
    assert project.asks("up", "--drain")["ended"] == "drained"
    assert [each["schedule"] for each in project.asks("schedules", "next")[:1]] == ["nightly"]
    assert project.types("doctor").code == 0


def test_the_readme_of_it_can_be_typed(typist: Typist) -> None:
    project = _in_project(typist)
    lines = (project.folder / "README.md").read_text().splitlines()
    assert len(lines) <= 10
    typed = [line.partition("#")[0].split() for line in lines if line.startswith("    sluice ")]
    answers = {words[1]: project.types(*words[1:]).code for words in typed if words[1] != "up"}
    assert answers == {"plan": 0, "run": 0, "why": 0, "doctor": 0}


def test_it_is_written_as_we_write(typist: Typist) -> None:
    project = _in_project(typist)
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed beside Python")
    config = ROOT / "pyproject.toml"
    check = [ruff, "check", "--no-cache", "--config", config, "--extend-ignore", "S,I,PLC", project.folder]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_is_there_is_left_alone(typist: Typist) -> None:
    typist.write("pipeline.py", "mine")
    said = typist.types("init")
    assert said.code == 2
    assert "Something is in the way: pipeline.py." in said.err
    assert {path.name for path in typist.folder.iterdir()} == {"pipeline.py"}
    assert (typist.folder / "pipeline.py").read_text() == "mine"
    assert typist.types("init", "pipeline.py").code == 2, "a file is no folder"


def test_a_folder_may_be_there_with_other_things(typist: Typist) -> None:
    typist.write("notes.txt", "mine")
    assert typist.types("init", ".").code == 0
    assert {path.name for path in typist.folder.iterdir()} == NAMES | {"notes.txt"}


def test_it_has_types(typist: Typist) -> None:
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
