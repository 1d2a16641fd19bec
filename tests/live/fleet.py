"""Fleet of ``python -m actors.worker`` processes, each in a session of its own, to be killed and replaced."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIPELINE = Path(__file__).parent / "pipeline.py"


class Fleet:
    """Workers that share definitions, a ledger and a broker. All log to one file."""

    def __init__(
        self,
        size: int,
        folder: Path,
        apps: str,
        environment: dict[str, str],
        *,
        threads: int,
        queues: str = "",
        root: Path,
    ) -> None:
        self.kills = 0
        self._root = root
        self._threads = threads
        self._queues = queues
        self._apps = apps
        self._log = folder / "workers.log"
        own = {"EFFECTS": str(folder / "effects"), "PYTHONFAULTHANDLER": "1"}
        self._environment = os.environ | own | environment
        self.effects = folder / "effects"
        self._workers = [self._start() for _ in range(size)]

    def kill_one(self, rng: random.Random) -> None:
        """SIGKILL one worker with all its processes, and start another in its place."""
        place = rng.randrange(len(self._workers))
        self._end(self._workers[place], signal.SIGKILL)
        self._workers[place] = self._start()
        self.kills += 1

    def kill_all(self) -> None:
        """SIGKILL all workers at once, without a replacement."""
        for worker in self._workers:
            os.killpg(worker.pid, signal.SIGKILL)
        self.kills += len(self._workers)
        self.close()

    def start_all(self) -> None:
        """Start the same number of workers again after they were killed."""
        self._workers = [self._start() for _ in self._workers]

    def revive(self) -> None:
        """Replace each worker that died by itself."""
        for place, worker in enumerate(self._workers):
            if worker.poll() is not None:
                self._workers[place] = self._start()
                self.kills += 1

    def terminate(self) -> list[int]:
        """SIGTERM all workers. Return their exit codes."""
        for worker in self._workers:
            worker.terminate()
        return [worker.wait(timeout=40) for worker in self._workers]

    def close(self) -> None:
        for worker in self._workers:
            self._end(worker, signal.SIGKILL)

    def first_processes(self) -> list[int]:
        """Return the first process of each worker, which started the others."""
        return [worker.pid for worker in self._workers]

    def resident_bytes(self) -> int:
        """Return the resident memory of the first processes of all workers together."""
        pages = [int(Path(f"/proc/{worker.pid}/statm").read_text().split()[1]) for worker in self._workers]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE")

    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def stacks(self) -> str:
        """Abort all workers, so that each process writes the stacks of its threads. Return the end of the log."""
        for worker in self._workers:
            self._end(worker, signal.SIGABRT)
        return self.log()[-20_000:]

    def lines(self) -> list[list[str]]:
        """Return the runs that began: app, key, claim, process."""
        return (
            [line.split() for line in self.effects.read_text().splitlines()] if self.effects.exists() else []
        )

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "actors.worker",
                    "--threads",
                    str(self._threads),
                    *(word for source in self._apps.split(",") for word in ("--apps", source)),
                    *(["--queues", self._queues] if self._queues else []),
                ],
                cwd=self._root,
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _end(self, worker: subprocess.Popen[bytes], how: signal.Signals) -> None:
        if worker.poll() is None:
            os.killpg(worker.pid, how)
        worker.wait()


@contextmanager
def fleet(
    size: int,
    folder: Path,
    *,
    ledger: str,
    broker: str,
    apps: str = str(PIPELINE),
    threads: int = 4,
    queues: str = "",
    root: Path = ROOT,
    **words: str,
) -> Iterator[Fleet]:
    """Yield a fleet with short leases, so that jobs of a killed worker are taken over soon.

    Without ``queues`` it serves all of them. ``root`` is the folder of the code that it runs. ``apps`` are separated by
    commas.
    """
    environment = {
        "SLUICE_LEDGER_URL": ledger,
        "SLUICE_BROKER_URL": broker,
        "SLUICE_LEASE": "3s",
        "SLUICE_TICK": "200ms",
        **words,
    }
    made = Fleet(size, folder, apps, environment, threads=threads, queues=queues, root=root)
    try:
        yield made
    finally:
        made.close()


def wait_until(
    is_so: Callable[[], object],
    *,
    within_s: float,
    meanwhile: Callable[[], object] | None = None,
    explain: Callable[[], str] | None = None,
) -> None:
    """Wait for a condition. Call ``meanwhile`` between two checks. On a timeout, raise the text of ``explain``."""
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError(explain() if explain else f"the condition was not met within {within_s} s")
        if meanwhile is not None:
            meanwhile()
        time.sleep(0.05)
