"""Several worker processes under dramatiq's command line."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from sluice.broker.consumer import supervisor
from sluice.broker.consumer.supervisor import PARENT_CHECK_S
from tests.broker.conftest import Post, parcel, until
from tests.broker.worker import CHECKOUT

#: Seconds within which children end after the death of their parent. They detect it within ``PARENT_CHECK_S``, and each
#: of the following steps may take as long.
GONE_S = 8 * PARENT_CHECK_S


class Pack:
    """Parent process with its worker processes, and the jobs that they have run."""

    def __init__(self, post: Post, file: Path) -> None:
        environment = os.environ | post.environment() | {"BOOT_FILE": str(file)}
        self._file = file
        self._log = file.with_suffix(".log")
        command = [sys.executable, "-m", "tests.broker.boot"]
        with self._log.open("w") as log:
            self.parent = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stderr=log)

    def ran(self) -> list[int]:
        return [int(line.split()[1]) for line in self._lines()]

    def are_up(self) -> bool:
        """Return whether both processes are ready. Before, dramatiq's parent may not survive the death of a child."""
        return self._log.read_text().count("ready for action") == 2

    def pids(self) -> set[int]:
        return {int(line.split()[0]) for line in self._lines()}

    def end(self) -> None:
        if self.parent.poll() is None:
            for process in [*psutil.Process(self.parent.pid).children(recursive=True), self.parent]:
                process.kill()
            self.parent.wait()

    def _lines(self) -> list[str]:
        return self._file.read_text().splitlines() if self._file.exists() else []


@pytest.fixture
def pack(server: Post, tmp_path: Path) -> Iterator[Pack]:
    made = Pack(server, tmp_path / "ran")
    yield made
    made.end()


def test_processes_share_the_work_and_end_cleanly(server: Post, pack: Pack) -> None:
    server.broker.publish(parcel(server.app, *range(40)))
    until(lambda: sorted(pack.ran()) == list(range(40)), within_s=20)
    pack.parent.send_signal(signal.SIGTERM)
    assert pack.parent.wait(10) == 0
    assert server.broker.depth(server.app) == 0


def still_running(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that have not ended in time. The machine's first process may be slow to collect a zombie."""
    _, left = psutil.wait_procs(processes, timeout=GONE_S)
    running = []
    for each in left:
        with suppress(psutil.NoSuchProcess):
            if each.status() != psutil.STATUS_ZOMBIE:
                running.append(each)
    return running


def test_when_the_parent_is_killed_its_processes_end(server: Post, pack: Pack) -> None:
    until(pack.are_up, within_s=20)
    processes = psutil.Process(pack.parent.pid).children(recursive=True)
    assert len(processes) == 2
    pack.parent.kill()
    pack.parent.wait()
    assert still_running(processes) == []


def test_a_process_ends_if_its_parent_is_killed_during_its_start(pack: Pack) -> None:
    """The parent is killed as soon as it has a child, before the child has begun to run."""
    until(lambda: psutil.Process(pack.parent.pid).children(), within_s=20)
    processes = psutil.Process(pack.parent.pid).children(recursive=True)
    pack.parent.kill()
    pack.parent.wait()
    assert still_running(processes) == []


def test_when_a_process_dies_the_parent_ends_and_nothing_is_lost(server: Post, pack: Pack) -> None:
    server.broker.publish(parcel(server.app, 1))
    until(lambda: pack.ran() == [1] and pack.are_up(), within_s=20)
    os.kill(pack.pids().pop(), signal.SIGKILL)
    assert pack.parent.wait(15) != 0
    server.broker.publish(parcel(server.app, 2))
    until(lambda: server.broker.depth(server.app) == 1)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux can wait for any process")
def test_a_child_waits_for_the_end_of_its_parent_without_checks(sleeper: subprocess.Popen[bytes]) -> None:
    checks, ended = [], Event()

    def is_alive() -> bool:
        checks.append(sleeper.pid)
        return True

    def wait() -> None:
        supervisor._await_end(sleeper.pid, is_alive)
        ended.set()

    Thread(target=wait, daemon=True).start()
    assert not ended.wait(4 * PARENT_CHECK_S)
    sleeper.kill()
    assert ended.wait(GONE_S)
    assert len(checks) == 1


def test_a_child_does_not_wait_for_a_process_that_is_not_its_parent(
    sleeper: subprocess.Popen[bytes],
) -> None:
    """The parent is dead, and another process has got its number."""
    supervisor._await_end(sleeper.pid, lambda: False)


def test_a_child_checks_its_parent_if_the_system_cannot_wait(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> int:
        raise PermissionError("a sandbox forbids it")

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    supervisor._await_end(sleeper.pid, lambda: True)
    monkeypatch.delattr(os, "pidfd_open")
    supervisor._await_end(sleeper.pid, lambda: True)
