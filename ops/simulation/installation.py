"""Simulated installation: handlers, messages in transit and workers. One thing happens at a time."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from random import Random

from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Execute, Message, Plan, Resume
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadMessage
from sluice.ops.simulation.describe import name_of
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultKind, FaultSource
from sluice.ops.simulation.mortal_ledger import CrashingLedger, SimulatedDeath
from sluice.ops.simulation.work import Sky, Work
from sluice.ops.simulation.workers import ORDINARY, Habits, Shore, SimulatedWorker

#: Seconds after which a message is offered again if no worker is awake.
OFFERED_AGAIN_S = 1.0
#: Seconds after which an unacknowledged message is delivered again.
RETURNED_S = 0.5
FROZEN_S = (1.0, 40.0)


class SimulatedInstallation:
    """Simulated installation. ``step`` performs one event.

    Handlers use the definitions in ``catalogue``, and so do workers that are hired from now on. ``heard`` is called
    with each message that was handled and not refused.
    """

    def __init__(
        self,
        ledger: CrashingLedger,
        fate: FaultSource,
        agenda: Agenda,
        catalogue: Catalogue,
        *,
        work: Work,
        sky: Sky,
        habits: Habits = ORDINARY,
        heard: Callable[[Message], None] = lambda _: None,
    ) -> None:
        self.agenda = agenda
        self.ledger = ledger
        self.catalogue = catalogue
        self.workers: list[SimulatedWorker] = []
        self.steps = 0
        #: Number of reliable messages in transit.
        self.unheard = 0
        #: Ends of the leases of workers that died or are frozen.
        self.leases_end: list[datetime] = []
        self._fate = fate
        self._habits = habits
        self._heard = heard
        self._waiting: deque[Execute] = deque()
        self._shore = Shore(
            fate=fate, agenda=agenda, ledger=ledger, work=work, sky=sky, send=self._send_hint, bury=self._bury
        )

    def step(self) -> None:
        """Perform the next event."""
        self.steps += 1
        event = self.agenda.next()
        with suppress(SimulatedDeath):
            event()
        while self._waiting and any(worker.is_awake and worker.is_free for worker in self.workers):
            with suppress(SimulatedDeath):
                self._execute(self._waiting.popleft())

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()

    def send(self, messages: Sequence[Message], *, reliably: bool = False) -> None:
        """Send messages. The broker keeps a reliable message until it was handled: it may be doubled, and not lost."""
        for message in messages:
            about = name_of(message, self.agenda.elapsed_s)
            for _ in range(self._copies(about, reliably=reliably)):
                self.unheard += reliably
                self.agenda.after(
                    self._fate.late_s(about),
                    partial(self._deliver, message, about, reliably=reliably),
                    about=about,
                )

    def hire(self, name: int) -> None:
        try:
            self.workers.append(SimulatedWorker(name, self._shore, self.catalogue, self._habits))
        except SimulatedDeath:
            self.agenda.after(1.0, lambda: self.hire(name), about=f"worker {name}")

    def plan_faults(self, within_s: float = math.inf) -> None:
        """Schedule the faults of workers that the clock determines."""
        faults = self._fate.faults
        for kind, every_s in (
            (FaultKind.KILLED, faults.kill_worker_every_s),
            (FaultKind.FROZEN, faults.freeze_worker_every_s),
            (FaultKind.STOPPED, faults.stop_worker_every_s),
        ):
            if every_s:
                self._plan_next(kind, every_s, within_s, self._fate.rng(kind))

    def _plan_next(self, kind: FaultKind, every_s: float, within_s: float, rng: Random) -> None:
        def strike() -> None:
            self._plan_next(kind, every_s, within_s, rng)
            self._strike(kind)

        wait_s = rng.expovariate(1 / every_s)
        if self.agenda.elapsed_s + wait_s < within_s:
            self.agenda.after(wait_s, strike, about=kind)

    def _copies(self, about: str, *, reliably: bool) -> int:
        if not reliably and self._fate.strikes(FaultKind.LOST, about, self._fate.faults.lose):
            return 0
        return 2 if self._fate.strikes(FaultKind.DOUBLED, about, self._fate.faults.double) else 1

    def _deliver(self, message: Message, about: str, *, reliably: bool) -> None:
        try:
            if isinstance(message, Execute):
                self._execute(message)
                return
            self._handle(message, about)
            self.unheard -= reliably
            self._heard(message)
        except SimulatedDeath:
            if reliably:
                again = partial(self._deliver, message, about, reliably=reliably)
                self.agenda.after(RETURNED_S, again, about=about)
            raise
        except BadMessage:
            self.unheard -= reliably
            # A message for a saga that has ended is refused.
            if not isinstance(message, Resume):
                raise

    def _handle(self, message: Message, about: str) -> None:
        """Handle a message by a process without a name, or by a free worker that plans."""
        planners = [each for each in self.workers if each.is_awake and each.is_free and each.plans]
        if not isinstance(message, Plan) or not planners:
            with self.ledger.by(f"whoever takes {about}"):
                self.send(handle(self.ledger, self.catalogue, message))
            return
        worker = self._fate.rng(f"who takes {about}").choice(planners)
        try:
            with self.ledger.by(f"worker {worker.name}, planning {about}"):
                worker.plan(message, self.catalogue)
        except SimulatedDeath:
            self._bury(worker)
            raise

    def _execute(self, message: Execute) -> None:
        awake = [worker for worker in self.workers if worker.is_awake]
        about = name_of(message, self.agenda.elapsed_s)
        if not awake:
            self.agenda.after(OFFERED_AGAIN_S, lambda: self._execute(message), about=about)
            return
        free = [worker for worker in awake if worker.is_free]
        if not free:
            self._waiting.append(message)
            return
        worker = self._fate.rng(f"who takes {about}").choice(free)
        try:
            with self.ledger.by(f"worker {worker.name}, taking {about}"):
                worker.execute(message)
        except SimulatedDeath:
            self._bury(worker)
            raise

    def _send_hint(self, message: Message) -> None:
        self.send([message])

    def _bury(self, worker: SimulatedWorker) -> None:
        worker.kill()
        self.leases_end.append(worker.lease_ends)
        self.workers.remove(worker)
        self.hire(worker.name)

    def _strike(self, kind: FaultKind) -> None:
        """Apply the fault to a random worker, if there is a worker."""
        if not self.workers:
            return
        moment = f"the worker that was struck at {self.agenda.elapsed_s:.0f} s"
        rng = self._fate.rng(f"{moment} {kind}")
        worker, seconds = rng.choice(self.workers), rng.uniform(*FROZEN_S)
        said = f"for {seconds:.0f} s " if kind is FaultKind.FROZEN else ""
        if not self._fate.strikes(kind, moment, 1.0, f"{said}(worker {worker.name})"):
            return
        if kind is FaultKind.KILLED:
            self._bury(worker)
        elif kind is FaultKind.FROZEN:
            worker.freeze(seconds)
            self.leases_end.append(worker.lease_ends)
        else:
            worker.stop()
