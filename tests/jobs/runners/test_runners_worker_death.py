"""Death of the worker, by any cause: no process that it started survives."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from sluice.jobs.runners.process import group
from tests.jobs.runners.runner_bench import alive, eventually, pids_in

ROOT = Path(__file__).parents[3]
WORKER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[:0] = {path!r}
from tests.jobs.runners.runner_bench import bash_app, isolated_app, Bench
from concurrent.futures import ThreadPoolExecutor
bench = Bench(ThreadPoolExecutor(20))
run = {run}
run()
"""

StartWorker = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def start_worker() -> Iterator[StartWorker]:
    """Yield a function that starts a worker for one job. Its argument ``run`` is the expression that runs the job."""
    workers: list[subprocess.Popen[bytes]] = []

    def start(run: str) -> subprocess.Popen[bytes]:
        program = WORKER.format(path=[str(ROOT), *sys.path], run=f"lambda: {run}")
        workers.append(subprocess.Popen([sys.executable, "-c", program], start_new_session=True))
        return workers[-1]

    yield start
    for worker in workers:
        worker.kill()
        worker.wait()


def offspring(worker: subprocess.Popen[bytes]) -> list[int]:
    """Return the IDs of all processes that the worker has started, including the guard."""
    return [child.pid for child in psutil.Process(worker.pid).children(recursive=True)]


def in_isolation(name: str, file: Path) -> str:
    return f"bench.isolate({name!r}, kwargs={{'at': {str(file)!r}}})"


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_command_and_its_children_die_with_the_worker(
    start_worker: StartWorker, tmp_path: Path, death: signal.Signals
) -> None:
    file = tmp_path / "pids"
    command = f"trap '' TERM HUP INT; sleep 600 & echo $! > {file}; echo $$ >> {file}; wait"
    worker = start_worker(f"bench.bash({command!r})")
    eventually(lambda: len(pids_in(file)) == 2)
    started = offspring(worker)
    assert set(pids_in(file)) < set(started)
    worker.send_signal(death)
    worker.wait()
    eventually(lambda: not any(map(alive, started)), within_s=2)


@pytest.mark.parametrize(
    "name", ["never_stop", "start_another_and_never_stop", "hold_the_lock_of_the_interpreter"]
)
def test_a_busy_isolated_function_dies_with_the_worker(
    start_worker: StartWorker, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "pids"
    worker = start_worker(in_isolation(name, file))
    eventually(lambda: pids_in(file))
    started = offspring(worker)
    assert set(pids_in(file)) < set(started)
    worker.kill()
    worker.wait()
    eventually(lambda: not any(map(alive, started)), within_s=2)


def test_a_suspended_command_dies_with_the_worker(start_worker: StartWorker, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    worker = start_worker(f"bench.bash('echo $$ > {file}; kill -STOP $$')")
    eventually(lambda: pids_in(file) and psutil.Process(pids_in(file)[0]).status() == psutil.STATUS_STOPPED)
    started = offspring(worker)
    worker.kill()
    worker.wait()
    eventually(lambda: not any(map(alive, started)), within_s=2)


@pytest.mark.parametrize("started_count", [1, 2, 5, 11, 22, 38])
def test_a_worker_that_dies_while_it_starts_commands_leaves_no_process(
    start_worker: StartWorker, tmp_path: Path, started_count: int
) -> None:
    """The command line of the command, and of every process that starts it, contains the mark."""
    mark = str(tmp_path)
    command = f"exec -a {mark} sleep 600"
    worker = start_worker(f"[bench.meanwhile(lambda: bench.bash({command!r})) for _ in range(20)]")
    started: set[int] = set()
    while len(started) < started_count:
        assert worker.poll() is None
        started.update(offspring(worker))
    worker.kill()
    worker.wait()
    eventually(lambda: not any(map(alive, started)) and not marked(mark), within_s=2)


def marked(mark: str) -> list[psutil.Process]:
    return [it for it in psutil.process_iter(["cmdline"]) if mark in str(it.info["cmdline"])]


def test_a_worker_interrupted_by_sigint_leaves_no_process(start_worker: StartWorker, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    worker = start_worker(f"bench.bash('trap \"\" INT TERM; echo $$ > {file}; while :; do sleep 1; done')")
    eventually(lambda: pids_in(file))
    started = offspring(worker)
    os.kill(worker.pid, signal.SIGINT)
    worker.wait()
    eventually(lambda: not any(map(alive, started)), within_s=2)


def test_an_interrupted_start_leaves_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command already runs when the signal arrives, but its starter has not received the process object yet."""
    file = tmp_path / "pids"
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **more: Any) -> None:
            super().__init__(*words, **more)
            if str(file) in str(words):
                started.append(self)
                eventually(lambda: pids_in(file))
                signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    command = group.ProcessCommand(
        argv=("/bin/sh", "-c", f"echo $$ > {file}; sleep 600"), env=dict(os.environ)
    )
    try:
        with pytest.raises(KeyboardInterrupt):
            group.ProcessGroup(command, tells=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert started[0].wait(10) == -signal.SIGKILL
