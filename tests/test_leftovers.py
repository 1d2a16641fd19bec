"""A test run that a signal ends in the middle leaves no process, folder, database or virtual host.

The run is a real one (``tests/leftovers/victim.py``), alone and with workers of pytest-xdist.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psutil
import pytest

from tests import leftovers, private_servers
from tests.leftovers import FOLDER, MARK
from tests.ops.typist import hear_interrupts
from tests.private_servers import PATH

ROOT = Path(__file__).parents[1]
#: Seconds for servers to start, and for the reaper to end them.
START_S, END_S = 120.0, 60.0

TESTS = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/leftovers/victim.py"]


@contextmanager
def started(command: Sequence[str], tells: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run of its own, not a part of ours, in the folder ``tells``. Its environment identifies its processes."""
    outer = {name: value for name, value in os.environ.items() if name not in {MARK, FOLDER}}
    told = {"VICTIM_TELLS": str(tells), "TMPDIR": str(tells)}
    with (tells / "output").open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=outer | told,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=hear_interrupts,  # noqa: PLW1509 - it sets one signal handler and nothing else
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def processes(tells: Path) -> list[list[str]]:
    """Return the command lines of all processes that have inherited the run's variable, including the reaper."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # The process has just ended, or is a zombie.
            if process.environ().get("VICTIM_TELLS") == str(tells):
                found.append(process.cmdline())
    return found


def assert_at_work(process: subprocess.Popen[bytes], tells: Path, deadline: float) -> None:
    """Assert that the run has not failed and has not exceeded its deadline, then wait a moment."""
    assert process.poll() is None, (tells / "output").read_text()
    assert time.monotonic() < deadline, (tells / "output").read_text()
    time.sleep(0.1)


def assert_nothing_left(tells: Path, but: set[str]) -> None:
    deadline = time.monotonic() + END_S
    while left := processes(tells):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    assert {path.name for path in tells.iterdir()} <= but | {"output"}


@pytest.fixture
def tells() -> Iterator[Path]:
    """Yield a folder with a short path, because sockets of servers are below it."""
    folder = Path("/tmp", f"v{uuid4().hex[:8]}")
    folder.mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _vhosts() -> set[str]:
    rabbitmqctl = shutil.which("rabbitmqctl", path=PATH)
    if rabbitmqctl is None:
        return set()
    done = subprocess.run([rabbitmqctl, "-q", "list_vhosts"], capture_output=True, text=True, check=False)
    return set(done.stdout.split())


#: One run without workers of pytest-xdist, and two with workers.
RUNS = [(0, signal.SIGINT), (2, signal.SIGTERM), (2, signal.SIGKILL)]


@pytest.mark.parametrize(("workers", "number"), RUNS, ids=lambda each: getattr(each, "name", str(each)))
def test_a_test_run_that_a_signal_ends_leaves_nothing(
    workers: int, number: signal.Signals, tells: Path
) -> None:
    for server in ("rabbitmq", "redis"):
        if shutil.which(f"{server}-server", path=PATH) is None:
            private_servers.SERVERS[
                "rabbit" if server == "rabbitmq" else server
            ]().__enter__()  # Skips the test, or fails it.
    with started([*TESTS, "-n", str(workers)], tells) as process:
        told = [tells / str(each) for each in range(max(workers, 1))]
        deadline = time.monotonic() + START_S
        while not all(path.exists() and path.read_text().count("\n") == 2 for path in told):
            assert_at_work(process, tells, deadline)
        assert processes(tells)
        # Other tests make virtual hosts at the same time, so only the run's own ones are checked.
        own = {urlsplit(path.read_text().splitlines()[1]).path.removeprefix("/") for path in told}
        assert own <= _vhosts()
        process.send_signal(number)
        process.wait(END_S)
    assert_nothing_left(tells, {path.name for path in told})
    assert not own & _vhosts()


def test_a_process_that_outlives_its_test_is_found_and_its_run_fails(tells: Path) -> None:
    (tells / "test_leaky.py").write_text(
        "import subprocess\ndef test_leaky():\n    subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    )
    # The file is outside of the project, and is run with the project's options.
    command = [
        *TESTS[:-1],
        "-c",
        str(ROOT / "pyproject.toml"),
        "-p",
        "tests.conftest",
        str(tells / "test_leaky.py"),
    ]
    with started([*command, "-W", "ignore", "--rootdir", str(tells)], tells) as process:
        assert process.wait(START_S) == pytest.ExitCode.TESTS_FAILED
    said = (tells / "output").read_text()
    assert re.search(r"outlived the tests:\n\d+: sleep 600", said), said
    (tells / "test_leaky.py").unlink()
    assert_nothing_left(tells, {"__pycache__"})


def test_undo_commands_run_at_the_end_of_their_block(tmp_path: Path) -> None:
    with leftovers.undone_by("touch", str(tmp_path / "undone")):
        assert not (tmp_path / "undone").exists()
    assert (tmp_path / "undone").exists()
