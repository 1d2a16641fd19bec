"""The built wheel in a fresh environment, not editable and away from the checkout, as users install it by pip.

Two packages of the index with the same names as rooms are installed beside it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sluice.ledger.fixtures import scratch_ledger
from sluice.ops.starter import TEMPLATES
from tests.ops.transcripts import Document
from tests.private_servers import free_port
from tests.servers import redis_url
from tests.style.sources import PACKAGE, ROOMS, ROOT

LOCK = (ROOT / "requirements.lock").read_text()
#: Packages that pytest needs and Sluice does not.
PYTEST = ("iniconfig", "packaging", "pluggy", "pytest")
#: Packages of the index that have folders of the same names as rooms.
NAMESAKES = ("ops==3.9.0", "scheduler==0.8.11")
QUICK_START = (ROOT / "docs/start.md").read_text()
#: Seconds for the commands of the quick start: 900, because a busy machine takes minutes, and not hours.
QUICK_START_S_MAX = 900
#: Commands of the quick start, each with what the reader has seen after it.
MILESTONES = {
    "cat sales/20261120.txt": "first result",
    "until grep --quiet console up.log; do sleep 1; done": "answer of the console",
    "cat sales/20261122.txt": "report of the retried jobs",
}
#: Files beside the code that are not part of an installation.
FOR_DEVELOPERS = ("ops/bench/", "ops/setup/", "ops/tools/")
#: Modules of a user, each with the name of a room.
HOSTILE = {
    "jobs/__init__.py": "raise ImportError('the jobs of another project')",
    "ops/__init__.py": "OWN = 1",
    "scheduler.py": "OWN = 1",
    "broker.py": "raise ImportError('the broker of another project')",
    "ledger.py": "OWN = 1",
    "planner.py": "OWN = 1",
}
TEST = """
def test_it_succeeds(pipeline):
    run = pipeline("apps.json", work={"hello": 60})
    run.submit("hello", "1")
    run.until_quiet()
    assert run.state("hello", "1") == "succeeded"
"""
THEIR_TEST = """
from ops import OWN
import scheduler

def test_theirs():
    assert OWN == scheduler.OWN == 1
"""


class Installed(NamedTuple):
    wheel: Path
    bin: Path
    #: Folder of the user.
    folder: Path

    def types(
        self, *words: str, folder: Path | None = None, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the user's folder, without the checkout on Python's path."""
        return subprocess.run(
            self.command(*words),
            cwd=folder or self.folder,
            env=self.environment(**settings),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def command(self, *words: str) -> list[str]:
        program, *rest = words
        return [str(self.bin / program), *rest]

    def environment(self, **settings: str) -> dict[str, str]:
        own = {"SLUICE_HOME": str(self.folder / "home"), "SLUICE_APPS": "apps.json"}
        return self.plain_environment() | own | settings

    def plain_environment(self) -> dict[str, str]:
        """Return the environment of a terminal in which the installation is activated."""
        outer = {
            name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "PYTHON"))
        }
        return outer | {"PATH": f"{self.bin}:{outer['PATH']}"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("installed")
    wheel = _built(folder)
    venv.create(folder / "venv", with_pip=True)
    running, _, rest = LOCK.partition("# For the extra `trace`.")
    tests = [block for block in re.split(r"\n(?=\w)", rest) if block.partition("==")[0] in PYTEST]
    (folder / "wanted.txt").write_text("\n".join([running, *tests]))
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "install"]
    pip += ["-qq", "--no-compile", "--disable-pip-version-check", "--no-deps"]
    for wanted in (["--require-hashes", "-r", "wanted.txt"], NAMESAKES):
        done = _run([*pip, *wanted], folder)
        if done.returncode != 0:
            _registry_is_missing(done.stderr)
    done = _run([*pip, "--no-index", str(wheel)], folder)
    assert done.returncode == 0, done.stderr
    user = folder / "user"
    user.mkdir()
    (user / "apps.json").write_text(json.dumps({"hello": {"job_id": "{n}", "bash_cmd": "echo hello {n}"}}))
    yield Installed(wheel, folder / "venv/bin", user)
    shutil.rmtree(folder / "venv")


def _built(folder: Path) -> Path:
    """Build the wheel from a copy, because a build leaves files in the tree."""
    source = folder / "source"
    source.mkdir()
    for name in (*ROOMS, PACKAGE):
        shutil.copytree(
            ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = _run([*pip, "--wheel-dir", str(folder / "dist"), "."], source)
    assert done.returncode == 0, done.stderr
    [wheel] = (folder / "dist").glob("*.whl")
    return wheel


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def _registry_is_missing(error: str) -> None:
    told = f"packages cannot be installed; is the package index in reach? {error[-300:]}"
    if os.environ.get("CI") == "true":
        pytest.fail(told, pytrace=False)
    pytest.skip(told)


def test_the_wheel_contains_every_file_of_the_rooms_and_no_others(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = set(archive.namelist())
    expected = {
        f"{PACKAGE}/{path.relative_to(ROOT).as_posix()}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if not path.relative_to(ROOT).as_posix().startswith(FOR_DEVELOPERS)
    }
    expected |= {f"{PACKAGE}/{name}" for name in ("__init__.py", "testing.py", "py.typed")}
    expected |= {"actors/__init__.py", "actors/worker.py"}
    found = {name for name in names if ".dist-info/" not in name}
    assert (sorted(expected - found), sorted(found - expected)) == ([], [])


def test_the_command_creates_a_ledger_and_runs_a_job(installed: Installed) -> None:
    done = installed.types("sluice", "run", "hello", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["jobs"] == {"succeeded": 1}


def test_the_command_prints_its_version_and_refuses_benchmarks(installed: Installed) -> None:
    assert installed.types("sluice", "--version").stdout == "sluice 0.1.0\n"
    done = installed.types("sluice", "bench")
    assert done.returncode == 2
    assert "The benchmarks are not part of an installation." in done.stderr


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    for name, text in HOSTILE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "apps.json").write_text(json.dumps({"hello": {"job_id": "{n}", "bash_cmd": "echo {n}"}}))
    return tmp_path


@pytest.mark.parametrize("words", [["python", "-m", "actors.worker"], ["sluice", "worker"]])
def test_a_worker_runs_jobs_in_a_folder_with_modules_of_the_same_names(
    installed: Installed, hostile: Path, words: list[str], embedded_url: str
) -> None:
    if words == ["sluice", "worker"]:
        (hostile / "actors.py").write_text("raise ImportError('the actors of another project')\n")
    with scratch_ledger(embedded_url) as ledger, redis_url() as broker:
        shared = {"SLUICE_LEDGER_URL": ledger, "SLUICE_BROKER_URL": broker}
        command, environment = installed.command(*words), installed.environment(**shared)
        with subprocess.Popen(command, cwd=hostile, env=environment) as worker:
            try:
                done = installed.types(
                    "sluice", "submit", "hello", "7", "--wait", "--json", folder=hostile, **shared
                )
            finally:
                worker.terminate()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["jobs"] == {"succeeded": 1}
    assert worker.returncode == 0


def test_definitions_are_imported_in_a_folder_with_modules_of_the_same_names(
    installed: Installed, hostile: Path
) -> None:
    done = installed.types("python", "-c", "from sluice import app, saga, Client", folder=hostile)
    assert done.returncode == 0, done.stderr


def test_the_tests_of_a_project_with_modules_of_the_same_names_run(
    installed: Installed, hostile: Path
) -> None:
    (hostile / "test_theirs.py").write_text(THEIR_TEST)
    done = installed.types("python", "-m", "pytest", "-q", "test_theirs.py", folder=hostile)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pipeline_fixture_works_in_the_tests_of_a_user(installed: Installed) -> None:
    (installed.folder / "test_pipeline.py").write_text(TEST)
    done = installed.types("pytest", "-q", "test_pipeline.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_starter_project_runs_and_its_tests_pass(installed: Installed, tmp_path: Path) -> None:
    assert installed.types("sluice", "init", "shop", folder=tmp_path).returncode == 0
    shop = tmp_path / "shop"
    settings = {"SLUICE_HOME": str(shop / ".sluice"), "SLUICE_APPS": "pipeline.py"}
    done = installed.types("sluice", "run", "report", "2026-11-20", "--json", folder=shop, **settings)
    assert done.returncode == 0, done.stderr
    done = installed.types("python", "-m", "pytest", "-q", folder=shop, **settings)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(2 * QUICK_START_S_MAX)
def test_the_quick_start_prints_the_shown_answers(installed: Installed, tmp_path: Path) -> None:
    """The page is typed as a whole, without a server. With ``-s``, the times since its first command are printed.

    The console has a free port, because another process of the machine may have its usual one.
    """
    environment = installed.plain_environment()
    assert shutil.which("sluice", path=environment["PATH"]) == str(installed.bin / "sluice")
    text = QUICK_START.replace("$ sluice up >", f"$ sluice up --listen 127.0.0.1:{free_port()} >")
    began = time.monotonic()
    times: dict[str, float] = {}
    page = Document(text, tmp_path, timeout_s=QUICK_START_S_MAX, environment=environment)
    for step, _ in page.checked(unordered="sluice ls"):
        if "console" in step.command:
            assert "Sluice" in _console((tmp_path / "shop/up.log").read_text())
        if step.command in MILESTONES:
            times[MILESTONES[step.command]] = time.monotonic() - began
    assert list(times) == list(MILESTONES.values())
    for milestone, seconds in times.items():
        sys.stdout.write(f"{milestone} after {seconds:.1f} s\n")


def _console(log: str) -> str:
    """Return the page at the address that ``sluice up`` has printed."""
    address = re.search(r"The console is at (http://\S+)", log)
    assert address, log
    with urllib.request.urlopen(address[1], timeout=60) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_definitions_of_each_template_can_be_loaded(
    installed: Installed, tmp_path: Path, template: str
) -> None:
    done = installed.types("sluice", "init", "--template", template, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    done = installed.types("sluice", "apps", "check", folder=tmp_path, SLUICE_APPS="pipeline.py")
    assert done.returncode == 0, done.stderr
