"""The built wheel in a fresh environment, not editable and away from the checkout: what a user gets by pip."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("actors", "broker", "jobs", "ledger", "ops", "planner", "scheduler")
LOCK = (ROOT / "requirements.lock").read_text()
#: What pytest needs that Sluice does not.
PYTEST = ("iniconfig", "packaging", "pluggy", "pytest")
#: Files beside the code that are no part of an installation.
NOT_INSTALLED = ("ops/setup/",)

TEST = """
def test_it_succeeds(pipeline):
    run = pipeline("apps.json", work={"hello": 60})
    run.submit("hello", "1")
    run.until_quiet()
    assert run.state("hello", "1") == "succeeded"
"""


class Installed(NamedTuple):
    wheel: Path
    bin: Path
    #: The user's own folder.
    folder: Path

    def types(self, *words: str) -> subprocess.CompletedProcess[str]:
        """In the user's folder, with nothing of the checkout on Python's path."""
        outer = {
            name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "PYTHON"))
        }
        environment = outer | {"SLUICE_HOME": str(self.folder / "home"), "SLUICE_APPS": "apps.json"}
        program, *rest = words
        return subprocess.run(
            [self.bin / program, *rest],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("installed")
    wheel = _built(folder)
    venv.create(folder / "venv", with_pip=True)
    running, _, rest = LOCK.partition("# For the extra `trace`.")
    tests = [block for block in re.split(r"\n(?=\w)", rest) if block.partition("==")[0] in PYTEST]
    (folder / "wanted.txt").write_text("\n".join([running, *tests]))
    pip = [
        str(folder / "venv/bin/python"),
        "-m",
        "pip",
        "install",
        "-qq",
        "--no-compile",
        "--disable-pip-version-check",
    ]
    done = _run([*pip, "--require-hashes", "--no-deps", "-r", "wanted.txt"], folder)
    if done.returncode != 0:
        _registry_is_missing(done.stderr)
    done = _run([*pip, "--no-deps", "--no-index", str(wheel)], folder)
    assert done.returncode == 0, done.stderr
    user = folder / "user"
    user.mkdir()
    (user / "apps.json").write_text(json.dumps({"hello": {"job_id": "{n}", "bash_cmd": "echo hello {n}"}}))
    yield Installed(wheel, folder / "venv/bin", user)
    shutil.rmtree(folder / "venv")


def _built(folder: Path) -> Path:
    """From a copy, because a build leaves files in the tree."""
    source = folder / "source"
    names = [*ROOMS, "pyproject.toml", "README.md", "LICENSE"]
    source.mkdir()
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = _run([*pip, "--wheel-dir", str(folder / "dist"), "."], source)
    assert done.returncode == 0, done.stderr
    [wheel] = (folder / "dist").glob("*.whl")
    return wheel


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def _registry_is_missing(error: str) -> None:
    told = f"the packages of requirements.lock cannot be installed; is the package index in reach? {error[-300:]}"
    if os.environ.get("CI") == "true":
        pytest.fail(told, pytrace=False)
    pytest.skip(told)


def test_every_file_beside_the_code_is_in_the_wheel(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = set(archive.namelist())
    expected = {
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    missing = {name for name in expected - names if not name.startswith(NOT_INSTALLED)}
    assert sorted(missing) == []


def test_the_command_runs_a_job_on_a_ledger_that_it_makes(installed: Installed) -> None:
    done = installed.types("sluice", "run", "hello", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["jobs"] == {"succeeded": 1}


@pytest.mark.parametrize("words", [["-m", "actors.worker", "--help"], ["-c", "from sluice import app, saga"]])
def test_python_finds_what_users_name(words: list[str], installed: Installed) -> None:
    done = installed.types("python", *words)
    assert done.returncode == 0, done.stderr


def test_the_fixture_for_users_tests_works(installed: Installed) -> None:
    (installed.folder / "test_pipeline.py").write_text(TEST)
    done = installed.types("pytest", "-q", "test_pipeline.py")
    assert done.returncode == 0, done.stdout + done.stderr
