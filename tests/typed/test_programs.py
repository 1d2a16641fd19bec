"""The programs of the pages for Python, and programs with errors, under ``mypy --strict`` and pyright."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from tests.typed.wrong_programs import HEAD, PROGRAMS

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "docs" / f"{name}.md"
    for name in ("functions", "expand", "transactions", "api", "retries", "breakers", "concurrency")
]
GOOD = [
    program
    for page in PAGES
    for program in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
]


def _mypy(folder: Path) -> dict[str, list[str]]:
    """Return the messages of mypy by file."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--hide-error-context",
        "--no-error-summary",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        path, _, message = line.partition(": ")
        if " error: " in f" {message}":
            found.setdefault(Path(path.partition(":")[0]).name, []).append(message)
    return found


def _pyright(folder: Path) -> dict[str, list[str]]:
    """Return the messages of pyright by file."""
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)], "reportUnusedImport": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "-p",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[str, list[str]] = {}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            found.setdefault(Path(each["file"]).name, []).append(each["message"])
    return found


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    for number, text in enumerate(GOOD):
        (folder / f"good_{number}.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    for number, program in enumerate(PROGRAMS):
        (folder / f"wrong_{number}.py").write_text(f"{HEAD}\n{program.text}\n")
    return folder


def test_there_are_enough_programs() -> None:
    assert len(GOOD) >= 45
    assert len(PROGRAMS) >= 20


@pytest.mark.parametrize("number", range(len(GOOD)))
def test_the_catalogue_accepts_each_program_of_the_page(good: Path, number: int) -> None:
    assert len(load([str(good / f"good_{number}.py")])) > 0


@pytest.mark.parametrize("number", [number for number, text in enumerate(GOOD) if "\ndef test_" in text])
def test_the_tests_of_each_program_succeed(good: Path, number: int) -> None:
    spec = importlib.util.spec_from_file_location(f"good_{number}", good / f"good_{number}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]
    assert tests
    for each in tests:
        each()


def test_mypy_accepts_the_programs_of_the_page(good: Path) -> None:
    assert _mypy(good) == {}


def test_pyright_accepts_the_programs_of_the_page(good: Path) -> None:
    assert _pyright(good) == {}


def test_mypy_reports_the_error_of_each_wrong_program(wrong: Path) -> None:
    found = _mypy(wrong)
    messages = {program.name: "\n".join(found.get(f"wrong_{n}.py", ())) for n, program in enumerate(PROGRAMS)}
    assert [name for name, text in messages.items() if not text] == []
    assert {each.name: messages[each.name] for each in PROGRAMS if each.mypy not in messages[each.name]} == {}


def test_pyright_reports_the_error_of_each_wrong_program(wrong: Path) -> None:
    found = _pyright(wrong)
    messages = {program.name: "\n".join(found.get(f"wrong_{n}.py", ())) for n, program in enumerate(PROGRAMS)}
    assert [name for name, text in messages.items() if not text] == []
    assert {
        each.name: messages[each.name] for each in PROGRAMS if each.pyright not in messages[each.name]
    } == {}
