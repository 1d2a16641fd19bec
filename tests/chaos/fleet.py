"""The workers of a run: each in a session of its own, with its own wires and clock."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from sluice.broker.messages import CONTROL
from tests.chaos.effects import VARIABLE
from tests.chaos.record import Record
from tests.chaos.wires import Urls, Wires
from tests.clocks import Clock
from tests.leashed import ROOT, Program

LEASE_S = 3.0
#: Token of the console, which receives a part of the submissions.
CONSOLE_TOKEN = "the token of these tests"
TICK_S = 0.2
GRACE_S = 2.0
THREADS = 4
#: The workers: three that run jobs, and two that plan and groom, and compete for the lead.
ALL = ("work-1", "work-2", "work-3", "control-1", "control-2")
COMMAND = (sys.executable, "-m", "actors.worker")
#: Seconds for an orderly end: the grace time, and round trips to ledger and broker, which may be cut just then.
_ENDS_WITHIN_S = 60.0
#: Text in the log of a worker that is ready.
_READY = b"ready for action"


class Apps(NamedTuple):
    """Sources of the definitions, and the names of the apps."""

    sources: Sequence[str]
    names: Sequence[str]


class Worker:
    """One worker. ``standing``: it was stopped by SIGSTOP. ``ending``: it is expected to end, so it is not revived."""

    def __init__(self, name: str, program: Program, *, wires: Wires, clock: Clock, log: Path) -> None:
        self.name = name
        self.wires = wires
        self.clock = clock
        self.standing = False
        self.ending = False
        self._program = program
        self._log = log
        self._said_before = 0

    @property
    def works(self) -> bool:
        """True if it takes messages.

        A worker that is killed again and again while it starts would never do any work.
        """
        return self._program.runs and not self.standing and not self.ending and self._is_ready()

    @property
    def runs(self) -> bool:
        return self._program.runs

    @property
    def session(self) -> int:
        return self._program.pid

    @property
    def exit_code(self) -> int | None:
        return self._program.exit_code

    def start(self) -> None:
        self._said_before = self._log.stat().st_size if self._log.exists() else 0
        self._program.start()
        self.standing = self.ending = False

    def kill(self) -> None:
        self._program.kill()

    def kill_first(self) -> None:
        """Send SIGKILL to its first process alone. The caller starts it again."""
        self._program.kill_alone()
        self.ending = True

    def kill_survivors(self) -> bool:
        """Kill all processes that its first process started. Return whether any was left."""
        return self._program.kill_survivors()

    def stop(self) -> None:
        self._program.stop()
        self.standing = True

    def go_on(self) -> None:
        """Continue a stopped worker. If it was killed in the meantime, do nothing."""
        if self._program.runs and self.standing:
            self._program.go_on()
        self.standing = False

    def tell_to_end(self) -> None:
        self._program.tell_to_end()
        self.ending = True

    def left(self) -> bool:
        """Return whether a worker that is ending ends in time."""
        deadline = time.monotonic() + _ENDS_WITHIN_S
        while self.runs and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.runs

    def _is_ready(self) -> bool:
        with self._log.open("rb") as log:
            log.seek(self._said_before)
            return _READY in log.read()


class Fleet:
    def __init__(
        self,
        stack: ExitStack,
        record: Record,
        folder: Path,
        *,
        urls: Urls,
        apps: Apps,
        command: Sequence[str],
    ) -> None:
        self._workers: dict[str, Worker] = {}
        for name in ALL:
            wires = Wires(urls)
            stack.callback(wires.close)
            clock = Clock(folder / f"{name}.clock")
            words = environment(record, wires, apps) | clock.environment()
            home = folder / name
            home.mkdir()
            queues = CONTROL if name.startswith("control") else apps.names
            line = [*command, "--threads", str(THREADS), "--queues", ",".join(queues)]
            log = record.logs / f"{name}.log"
            worker = Worker(name, Program(line, home, words, log), wires=wires, clock=clock, log=log)
            stack.callback(worker.kill)
            self._workers[name] = worker

    def __getitem__(self, name: str) -> Worker:
        return self._workers[name]

    def __iter__(self) -> Iterator[Worker]:
        return iter(self._workers.values())

    def start(self) -> None:
        for worker in self:
            worker.start()

    def works(self) -> bool:
        return all(worker.works for worker in self)

    def revive(self) -> Iterator[tuple[str, int]]:
        """Restart each worker that has exited without being stopped. Yield its name and exit code.

        A worker exits if it starts while its ledger is down. A supervisor would restart it, too.
        """
        for worker in self:
            code = worker.exit_code
            if code is not None and not worker.ending:
                worker.kill()
                worker.start()
                yield worker.name, code

    def end(self) -> dict[str, int | None]:
        """Stop all workers that still run. Return the workers that did not exit cleanly, with their exit codes.

        The exit code of a worker that does not end is None.
        """
        for worker in self:
            if worker.runs:
                worker.tell_to_end()
        return {
            worker.name: worker.exit_code for worker in self if not worker.left() or worker.exit_code != 0
        }


def environment(record: Record, wires: Wires, apps: Apps) -> dict[str, str]:
    """Return the environment of a process of Sluice.

    Leases are short, so that jobs of a killed worker are taken over soon.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    return kept | {
        "PYTHONPATH": str(ROOT),
        VARIABLE: str(record.effects),
        "SLUICE_APPS": ",".join(apps.sources),
        "SLUICE_CONSOLE_TOKEN": CONSOLE_TOKEN,
        "SLUICE_LEDGER_URL": wires.ledger.url,
        "SLUICE_BROKER_URL": wires.broker.url,
        "SLUICE_LEASE": f"{LEASE_S}s",
        "SLUICE_TICK": f"{TICK_S}s",
        "SLUICE_SHUTDOWN_GRACE": f"{GRACE_S}s",
    }
