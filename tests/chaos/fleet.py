"""The workers: each in a session of its own, with wires and a clock of its own."""

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
#: Of the console, which takes a part of the submissions.
CONSOLE_TOKEN = "the token of these tests"
TICK_S = 0.2
GRACE_S = 2.0
THREADS = 4
#: Who there is: as many as do the work, and two that plan it, watch over it, and contend for the lead.
ALL = ("work-1", "work-2", "work-3", "control-1", "control-2")
COMMAND = (sys.executable, "-m", "actors.worker")
#: An orderly end takes the grace time and what its rounds to ledger and broker take, which may be cut just then.
_ENDS_WITHIN_S = 60.0
#: What stands in its log then.
_READY = b"ready for action"


class Apps(NamedTuple):
    """Where they are defined, and what they are called."""

    sources: Sequence[str]
    names: Sequence[str]


class Worker:
    """``standing`` says that it was stopped; ``ending`` that it was told to end and is to be waited for."""

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
        """Whether it takes messages: one that is killed while it begins, and again, would never come to anything."""
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
        """SIGKILL to its first process alone. It is started again by whoever did this."""
        self._program.kill_alone()
        self.ending = True

    def kill_survivors(self) -> bool:
        """Whether anything that its first process started was left, which is killed now."""
        return self._program.kill_survivors()

    def stop(self) -> None:
        self._program.stop()
        self.standing = True

    def go_on(self) -> None:
        """Nothing happens where it was killed meanwhile."""
        if self._program.runs and self.standing:
            self._program.go_on()
        self.standing = False

    def tell_to_end(self) -> None:
        self._program.tell_to_end()
        self.ending = True

    def left(self) -> bool:
        """Whether one that was told to end does so in its time."""
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
        """Start another in the place of each that has left though nobody told it to: one that begins while its ledger
        is away does, and whoever runs workers starts it again. Who it was, and its exit code."""
        for worker in self:
            code = worker.exit_code
            if code is not None and not worker.ending:
                worker.kill()
                worker.start()
                yield worker.name, code

    def end(self) -> dict[str, int | None]:
        """Tell all of them to end, but those who have left by themselves; who has not left in order, with his exit
        code, or None for one that stays."""
        for worker in self:
            if worker.runs:
                worker.tell_to_end()
        return {
            worker.name: worker.exit_code for worker in self if not worker.left() or worker.exit_code != 0
        }


def environment(record: Record, wires: Wires, apps: Apps) -> dict[str, str]:
    """What a process of Sluice is told here. Short leases, so that what a killed one held is taken over soon."""
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
        "SLUICE_GRACE": f"{GRACE_S}s",
    }
