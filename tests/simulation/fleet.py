"""Simulated workers: each claims, runs for a while, records; beats; and may die or freeze at any point."""

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID

from actors import executor
from actors.executor import Appetite
from broker.messages import Execute, Message
from jobs.catalogue import Catalogue
from jobs.outcome import Ending, Outcome
from jobs.ref import Claim
from ledger import partitions, workers
from ledger.claims import Claimed
from tests.simulation.air import Air
from tests.simulation.crashing import Crash, CrashingLedger
from tests.simulation.flights import Run
from tests.simulation.network import Agenda

LEASE_S = 15.0


#: Each takes on one job for a hint that names one, or two, or so many.
AT_ONCE_MAX = 3


class Worker:
    """One process. Killed, it does nothing any more; frozen, it goes on later as if nothing had been."""

    def __init__(
        self,
        name: int,
        rng: random.Random,
        agenda: Agenda,
        ledger: CrashingLedger,
        catalogue: Catalogue,
        *,
        air: Air,
        send: Callable[[Message], None],
        bury: Callable[["Worker"], None],
    ) -> None:
        self.name = name
        self.alive = True
        self.frozen_until = agenda.now
        self._id = UUID(int=rng.getrandbits(128), version=4)
        self._rng = rng
        self._agenda = agenda
        self._ledger = ledger
        self._catalogue = catalogue
        self._air = air
        self._send = send
        self._bury = bury
        self._held: set[Claim] = set()
        self._flights: dict[Claim, Run] = {}
        ledger.transact(
            lambda tx: workers.join(tx, self._id, host="sim", pid=name, queues=[], threads=1, lease_s=LEASE_S)
        )
        self._agenda.after(LEASE_S / 3, self._mortal(self._beat))

    def execute(self, message: Execute) -> None:
        """Claim what can be had, and end each job some time later."""
        at_once = self._at_once(message.app)
        taken, messages = executor.claim(self._ledger, self._catalogue, message, self._id, at_once=at_once)
        for told in messages:
            self._send(told)
        self._begin(taken)

    def _begin(self, taken: list[Claimed]) -> None:
        for claimed in taken:
            self._held.add(claimed.right)
            if claimed.flying:
                self._flights[claimed.right] = self._fly(claimed)
                continue
            duration_s = self._duration_s()
            for partition in claimed.partitions or ():
                if self._rng.random() < 0.3:
                    note = partial(self._acknowledge, claimed.right, partition)
                    self._agenda.after(self._rng.random() * duration_s, self._mortal(note))
            self._agenda.after(duration_s, self._mortal(lambda claimed=claimed: self._end(claimed)))

    def kill(self) -> None:
        self.alive = False
        for run in self._flights.values():
            run.kill()

    def stop(self) -> None:
        """Hand back what flies, at the next boundary."""
        for run in self._flights.values():
            run.stop.set()

    def freeze(self, seconds: float) -> None:
        self.frozen_until = self._agenda.now + timedelta(seconds=seconds)

    def _end(self, claimed: Claimed) -> None:
        if not self.alive:
            return
        if self._agenda.now < self.frozen_until:
            wait_s = (self.frozen_until - self._agenda.now).total_seconds()
            self._agenda.after(wait_s, self._mortal(lambda: self._end(claimed)))
            return
        self._record(claimed.right, self._outcome())

    def _record(self, right: Claim, outcome: Outcome) -> None:
        appetite = Appetite(self._id, self._serves, self._at_once)
        settled = executor.settle(self._ledger, self._catalogue, {right: outcome}, appetite)
        self._held.discard(right)
        for message in settled.messages:
            self._send(message)
        self._begin(settled.taken)

    def _serves(self, app: str) -> bool:
        """Every other worker has each app's queue, and takes on what follows from its own jobs."""
        return (self.name + len(app) + ord(app[-1])) % 2 == 0

    def _at_once(self, app: str) -> int:
        return 1 + self.name % AT_ONCE_MAX

    def _fly(self, claimed: Claimed) -> Run:
        return Run(
            claimed,
            rng=self._rng,
            agenda=self._agenda,
            ledger=self._ledger,
            catalogue=self._catalogue,
            air=self._air,
            awake_at=lambda: self.frozen_until,
            end=partial(self._record, claimed.right),
            mortal=self._mortal,
        )

    def _acknowledge(self, right: Claim, partition: int) -> None:
        if self.alive and self._agenda.now >= self.frozen_until:
            self._ledger.transact(lambda tx: partitions.acknowledge(tx, right, partition))

    def _beat(self) -> None:
        if not self.alive:
            return
        if self._agenda.now >= self.frozen_until:
            held = sorted(self._held)
            standing = self._ledger.transact(lambda tx: workers.beat(tx, self._id, held, lease_s=LEASE_S))
            for lost in sorted(self._flights.keys() & self._held - standing):
                self._flights[lost].stop.set()
            self._held &= standing
            strays = self._ledger.transact(lambda tx: workers.strays(tx, self._id, held, grace_s=LEASE_S))
            self._give_back(strays)
        self._agenda.after(LEASE_S / 3, self._mortal(self._beat))

    def _give_back(self, strays: list[Claim]) -> None:
        if strays:
            outcome = Outcome(ending=Ending.HANDED_BACK)
            messages, _ = executor.record(self._ledger, dict.fromkeys(strays, outcome))
            for message in messages:
                self._send(message)

    def _mortal(self, act: Callable[[], None]) -> Callable[[], None]:
        """An act that, if the process dies in it, is its last."""

        def attempt() -> None:
            try:
                act()
            except Crash:
                self._bury(self)
                raise

        return attempt

    def _duration_s(self) -> float:
        return self._rng.choice((0.01, 0.5, 3.0, 12.0)) * (0.5 + self._rng.random())

    def _outcome(self) -> Outcome:
        drawn = self._rng.random()
        if drawn < 0.80:
            return Outcome(ending=Ending.DONE)
        if drawn < 0.92:
            return Outcome(ending=Ending.ERROR, error="drawn")
        if drawn < 0.96:
            return Outcome(ending=Ending.TIMED_OUT, error="drawn")
        return Outcome(ending=Ending.HANDED_BACK)
