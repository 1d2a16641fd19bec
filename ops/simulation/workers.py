"""Simulated workers. Each claims jobs, runs them for a while, records the outcomes and sends heartbeats. It may die or
freeze at any point.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from threading import Event
from uuid import UUID

from msgspec import Struct

from sluice.actors.executor import breakers, transactions
from sluice.actors.executor.breakers import has_failed
from sluice.actors.executor.own_successes import OwnSuccesses
from sluice.actors.executor.transactions import Capacity
from sluice.actors.planner.handlers import plan_and_claim
from sluice.broker.messages import Execute, Message, Plan
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import Claim, JobName
from sluice.ledger.database.connection import Tx
from sluice.ledger.keyspaces import partitions
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.recovery import leases
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.flights import FlightRun
from sluice.ops.simulation.mortal_ledger import CrashingLedger, SimulatedDeath
from sluice.ops.simulation.work import Effort, Sky, Work

LEASE_S = 15.0
BEAT_S = LEASE_S / 3


class Habits(Struct, frozen=True):
    """Behaviour of workers.

    A worker with ``threads`` runs at most that many jobs at a time, and the jobs of one notification one after the
    other. A worker without ``threads`` runs all jobs of its notifications at the same time. ``serves`` decides by
    the worker's name whether it takes follow-up jobs of an app after its own jobs. ``at_once`` is the number of
    jobs that it takes for a notification with one job. A worker that ``plans`` also plans submissions, and takes jobs
    that it has planned.
    """

    threads: int | None = None
    serves: Callable[[int, str], bool] = lambda _name, _app: True
    at_once: Callable[[int], int] = lambda _name: 1
    plans: Callable[[int], bool] = lambda _name: False
    #: True if workers send heartbeats by themselves. Otherwise heartbeats are sent only when the state of a lease
    #: matters.
    beats: bool = True


ORDINARY = Habits()


class Shore(Struct, frozen=True):
    """Environment of a worker."""

    fate: FaultSource
    agenda: Agenda
    ledger: CrashingLedger
    work: Work
    sky: Sky
    send: Callable[[Message], None]
    bury: Callable[["SimulatedWorker"], None]


class SimulatedWorker:
    """One process. If killed, it does nothing more. If frozen, it continues later as if nothing had happened."""

    def __init__(self, name: int, shore: Shore, catalogue: Catalogue, habits: Habits) -> None:
        self.name = name
        self.alive = True
        self.frozen_until = shore.agenda.now
        self._shore = shore
        self._agenda = shore.agenda
        self._ledger = shore.ledger
        self._catalogue = catalogue
        self._habits = habits
        self._id = UUID(int=shore.fate.rng(f"worker {name}").getrandbits(128), version=4)
        self._whom = f"worker {name}"
        self._held: set[Claim] = set()
        self._flights: dict[Claim, FlightRun] = {}
        self._lines: dict[Claim, deque[ClaimedJob]] = {}
        self._own_successes = OwnSuccesses(shore.ledger, self._id, self._send, Event())
        with self._ledger.by(self._whom):
            self._ledger.transact(
                lambda tx: leases.join(
                    tx, self._id, host="sim", pid=name, queues=[], threads=1, lease_s=LEASE_S
                )
            )
        self._beaten_at = self._agenda.now
        if habits.beats:
            self._agenda.after(BEAT_S, self._mortal(self._beat_on), about=self._whom)

    @property
    def is_awake(self) -> bool:
        return self.alive and self.frozen_until <= self._agenda.now

    @property
    def is_free(self) -> bool:
        """True if the worker would run another job."""
        return self._habits.threads is None or len(self._lines) < self._habits.threads

    @property
    def lease_ends(self) -> datetime:
        return self._beaten_at + timedelta(seconds=LEASE_S)

    def execute(self, message: Execute) -> None:
        """Claim jobs for a notification, and end each job some time later."""
        at_once = self._at_once(message.app)
        taken, messages = transactions.claim(
            self._ledger, self._catalogue, message, self._id, at_once=at_once
        )
        self._send(messages)
        self._begin(taken)

    @property
    def plans(self) -> bool:
        return self._habits.plans(self.name)

    def plan(self, message: Plan, catalogue: Catalogue) -> None:
        """Plan submissions, and begin some of the jobs."""
        planned = plan_and_claim(self._ledger, catalogue, message, capacity=self._capacity())
        self._send(planned.messages)
        self._begin(planned.taken)

    def kill(self) -> None:
        self.alive = False
        for run in self._flights.values():
            run.kill()

    def stop(self) -> None:
        """Hand back all running flights, at their next boundary."""
        for run in self._flights.values():
            run.stop.set()

    def freeze(self, seconds: float) -> None:
        self.frozen_until = self._agenda.now + timedelta(seconds=seconds)

    def beat_if_due(self) -> None:
        """Send a heartbeat if the last heartbeat is too old. The renewed lease does not count as a write, because no
        work follows from it, unless the worker dies in it.
        """
        if self.is_awake and self._agenda.now - self._beaten_at >= timedelta(seconds=BEAT_S):
            before = self._ledger.has_written
            with suppress(SimulatedDeath):
                self._mortal(self._renew)()
                self._ledger.has_written = before
                self._mortal(self._give_back_strays)()

    def has_strays(self, tx: Tx) -> bool:
        """Return whether the next heartbeat gives back claims that the worker does not know."""
        return self.is_awake and bool(self._strays(tx))

    def _begin(self, taken: list[ClaimedJob]) -> None:
        self._held |= {claimed.right for claimed in taken}
        lines = [taken] if self._habits.threads else [[claimed] for claimed in taken]
        for line in lines:
            self._begin_next(deque(line))

    def _begin_next(self, line: deque[ClaimedJob]) -> None:
        if not line:
            return
        claimed = line.popleft()
        self._lines[claimed.right] = line
        if claimed.saga_open:
            self._flights[claimed.right] = self._fly(claimed)
            return
        effort = self._shore.work.effort(claimed)
        about = f"{self._whom} with #{claimed.id}, claim {claimed.claim}"
        for at_s, partition in effort.acknowledged:
            note = partial(self._acknowledge, claimed.right, partition)
            self._agenda.after(at_s, self._mortal(note, about), about=about)
        self._agenda.after(
            effort.seconds, self._mortal(partial(self._end, claimed, effort), about), about=about
        )

    def _end(self, claimed: ClaimedJob, effort: Effort) -> None:
        if not self.alive:
            return
        if not self.is_awake:
            wait_s = (self.frozen_until - self._agenda.now).total_seconds()
            self._agenda.after(wait_s, self._mortal(partial(self._end, claimed, effort)), about=self._whom)
            return
        outcome = effort.end()
        self._record(claimed, outcome)
        if has_failed(outcome) and self._catalogue.app(claimed.app).breaker:
            for message in breakers.evaluate(self._ledger, claimed.app).messages:
                self._shore.send(message)

    def _record(self, claimed: ClaimedJob, outcome: Outcome) -> None:
        line = self._lines.pop(claimed.right)
        to_record = self._own_successes.conclude(claimed, outcome)
        taken = self._settle(claimed, to_record, may_take=not line) if to_record else []
        self._held.discard(claimed.right)
        self._begin_next(line)
        self._begin(taken)

    def _settle(self, claimed: ClaimedJob, outcome: Outcome, *, may_take: bool) -> list[ClaimedJob]:
        settled = transactions.settle(
            self._ledger,
            self._catalogue,
            {claimed.right: outcome},
            self._capacity() if may_take else None,
            names={claimed.id: JobName(claimed.app, claimed.key)},
        )
        self._send(settled.messages)
        return settled.taken

    def _capacity(self) -> Capacity:
        return Capacity(self._id, partial(self._habits.serves, self.name), self._at_once)

    def _at_once(self, _: str) -> int:
        return self._habits.at_once(self.name)

    def _fly(self, claimed: ClaimedJob) -> FlightRun:
        return FlightRun(
            claimed,
            fate=self._shore.fate,
            agenda=self._agenda,
            ledger=self._ledger,
            catalogue=self._catalogue,
            sky=self._shore.sky,
            awake_at=lambda: self.frozen_until,
            end=partial(self._record, claimed),
            mortal=self._mortal,
        )

    def _acknowledge(self, right: Claim, partition: int) -> None:
        if self.is_awake:
            self._ledger.transact(lambda tx: partitions.acknowledge(tx, right, partition))

    def _beat_on(self) -> None:
        if not self.alive:
            return
        if self.is_awake:
            self._renew()
            self._give_back_strays()
        self._agenda.after(BEAT_S, self._mortal(self._beat_on), about=self._whom)

    def _renew(self) -> None:
        held = sorted(self._held)
        # Before the commit, because the lease also counts if the worker dies right after it.
        self._beaten_at = self._agenda.now
        standing = self._ledger.transact(lambda tx: leases.renew(tx, self._id, held, lease_s=LEASE_S))
        for lost in sorted(self._flights.keys() & self._held - standing):
            self._flights[lost].stop.set()
        self._held &= standing

    def _give_back_strays(self) -> None:
        if strays := self._ledger.transact(self._strays):
            outcome = Outcome(ending=Ending.HANDED_BACK)
            messages, _ = transactions.record(self._ledger, dict.fromkeys(strays, outcome))
            self._send(messages)

    def _strays(self, tx: Tx) -> list[Claim]:
        return leases.strays(tx, self._id, sorted(self._held), grace_s=LEASE_S)

    def _send(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._shore.send(message)

    def _mortal(self, act: Callable[[], None], whom: str = "") -> Callable[[], None]:
        """Wrap an act, so that a death of the process in it buries the worker."""

        def attempt() -> None:
            try:
                with self._ledger.by(whom or f"{self._whom} at {self._agenda.elapsed_s:.0f} s"):
                    act()
            except SimulatedDeath:
                self._shore.bury(self)
                raise

        return attempt
