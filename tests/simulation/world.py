"""One simulated world: definitions, a ledger, a network, a fleet, and users with wishes."""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from actors.client import Client
from actors.handlers import handle
from broker.messages import Execute, Landed, Message, Resume, Tick
from jobs.catalogue import Catalogue
from jobs.errors import BadMessage
from ledger import pruning
from ledger.connection import Ledger
from tests.simulation.air import Air
from tests.simulation.crashing import Crash, CrashingLedger
from tests.simulation.definitions import changed_apps, drawn_wish
from tests.simulation.faults import NONE, Faults
from tests.simulation.fleet import Worker
from tests.simulation.network import Agenda
from tests.simulation.partitions import Watch, all_landed
from tests.simulation.pauses import drawn_pauses
from tests.simulation.sagas import LOOK_S, Operator
from tests.simulation.trips import Trips
from tests.world import catalogue_of, empty

#: Wishes and faults stop here; what is left to do then has to come to an end.
FAULTY_S = 60.0
#: A healed world that has not come to rest by now never will.
PATIENCE_S = 4000.0
#: Nor will one in which no job has moved for so long: no hint is repeated, and nothing is tried again, later than that.
STILL_S = 1500.0
#: Whatever was paused is resumed then; by now no pause is under way any more.
RESUMED_S = FAULTY_S + 30.0
#: By then the groomer has seen to what that, and all that went before, has left to him.
CALM_S = RESUMED_S + 10.0
TICK_S = 1.0
#: In a third of the worlds without sagas, whose history is looked at, it is removed: so often, and once it is as old.
PRUNED_EVERY_S = 3.0
PRUNED_AT_ONCE = 5


class World:
    """``step`` lets one thing happen. Everything random comes from one seeded source."""

    def __init__(
        self, url: str, rng: random.Random, apps: dict[str, Any], catalogue: Catalogue, faults: Faults
    ) -> None:
        self.agenda = Agenda(rng)
        self.plain = Ledger(url, connections=1, clock=self.agenda.clock)
        self.plain.transact(empty)
        self._ledger = CrashingLedger(url, rng, self.agenda.clock)
        self._ledger.faults = self.faults = faults
        self._rng = rng
        self._apps = apps
        self.catalogue = catalogue
        self.catalogues = [catalogue]
        self.watch = Watch(catalogue)
        self.trips = Trips(apps)
        self.air = Air(rng, self.agenda, self.plain, self._send_news)
        self._operator = Operator(rng, self.plain, Client(self._ledger, self.send), self._send_news)
        self._workers: list[Worker] = []
        self._submitted: list[str] = []
        self._wishes = rng.randint(1, 6)
        self.steps = 0
        self._begin()

    def step(self) -> None:
        """Let the next thing happen."""
        self.steps += 1
        event = self.agenda.next()
        with suppress(Crash):
            event()

    def has_written(self) -> bool:
        """Whether anything was written since this was asked."""
        has, self._ledger.has_written = self._ledger.has_written, False
        return has

    @property
    def elapsed_s(self) -> float:
        return self.agenda.elapsed_s

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
        self.plain.close()
        self._ledger.close()

    def send(self, messages: Sequence[Message], *, reliably: bool = False) -> None:
        for message in messages:
            for _ in range(self._copies(reliably=reliably)):
                self.agenda.after(
                    self._rng.random() * self.faults.delay_s_max, self._delivery(message, reliably)
                )

    def _begin(self) -> None:
        for name in range(self._rng.randint(1, 3)):
            self._hire(name)
        for number in range(self._wishes):
            wish = drawn_wish(self._rng, self._apps, number, self._submitted)
            if isinstance(wish, Landed):
                self.watch.hear(wish)
            self.agenda.after(
                self._rng.random() * FAULTY_S * 0.7, lambda wish=wish: self.send([wish], reliably=True)
            )
        for at_s, message in drawn_pauses(self._rng, self._submitted, FAULTY_S):
            self.agenda.after(at_s, lambda message=message: self.send([message], reliably=True))
        self.agenda.after(RESUMED_S, self._resume)
        self.agenda.after(TICK_S, self._tick)
        if self._wishes % 3 == 0 and not any(app.saga or app.compensate for app in self.catalogue.values()):
            self.agenda.after(PRUNED_EVERY_S, self._prune)
        self.agenda.after(FAULTY_S, self._heal)
        if self._rng.random() < 0.3:
            self.agenda.after(self._rng.random() * FAULTY_S, self._edit)
        self._plan_faults(self.faults.kill_worker_every_s, self._kill)
        self._plan_faults(self.faults.freeze_worker_every_s, self._freeze)
        self._plan_faults(self.faults.stop_worker_every_s, self._stop)
        if any(app.saga for app in map(self.catalogue.app, self.catalogue)):
            self.agenda.after(LOOK_S, self._operate)

    def _heal(self) -> None:
        self.faults = self._ledger.faults = NONE

    def _resume(self) -> None:
        """What is waited for comes to pass: whoever is paused goes on, and what others make has landed."""
        landings = all_landed(self.catalogue)
        for landing in landings:
            self.watch.hear(landing)
        self.send([*(Resume(submission=id_) for id_ in self._submitted), *landings], reliably=True)

    def _edit(self) -> None:
        """All processes at once take up a changed definition."""
        self.catalogue = catalogue_of(changed_apps(self._rng, self._apps))
        self.catalogues.append(self.catalogue)

    def _operate(self) -> None:
        if self.elapsed_s < RESUMED_S:
            self.agenda.after(LOOK_S * self._rng.random(), self._operate)
            self._operator.look()

    def _send_news(self, message: Message) -> None:
        self.send([message], reliably=True)

    def _tick(self) -> None:
        self.send([Tick()])
        self.agenda.after(TICK_S, self._tick)

    def _prune(self) -> None:
        """What happened is kept for seconds."""
        self.agenda.after(PRUNED_EVERY_S, self._prune)
        self._ledger.transact(lambda tx: pruning.prune(tx, keep_s=PRUNED_EVERY_S, limit=PRUNED_AT_ONCE))

    def _copies(self, *, reliably: bool) -> int:
        """A submit message is kept by the broker until it was understood, so it may double but not get lost."""
        if not reliably and self._rng.random() < self.faults.lose:
            return 0
        return 2 if self._rng.random() < self.faults.double else 1

    def _delivery(self, message: Message, reliably: bool) -> Callable[[], None]:
        def deliver() -> None:
            try:
                if isinstance(message, Execute):
                    self._execute(message)
                else:
                    self.send(handle(self._ledger, self.catalogue, message))
                    if isinstance(message, Resume) and message.app is not None:
                        self.air.hears(message)
            except Crash:
                if reliably:
                    self.agenda.after(0.5, deliver)
                raise
            except BadMessage:
                # What comes for a saga that has ended is refused.
                if not isinstance(message, Resume):
                    raise

        return deliver

    def _execute(self, message: Execute) -> None:
        awake = [worker for worker in self._workers if worker.frozen_until <= self.agenda.now]
        if not awake:
            self.agenda.after(1.0, lambda: self._execute(message))
            return
        worker = self._rng.choice(awake)
        try:
            worker.execute(message)
        except Crash:
            self._bury(worker)
            raise

    def _hire(self, name: int) -> None:
        def send(message: Message) -> None:
            self.send([message])

        try:
            self._workers.append(
                Worker(
                    name,
                    self._rng,
                    self.agenda,
                    self._ledger,
                    self.catalogue,
                    air=self.air,
                    send=send,
                    bury=self._bury,
                )
            )
        except Crash:
            self.agenda.after(1.0, lambda: self._hire(name))

    def _kill(self) -> None:
        if self._workers:
            self._bury(self._rng.choice(self._workers))

    def _bury(self, worker: Worker) -> None:
        worker.kill()
        self._workers.remove(worker)
        self._hire(worker.name)

    def _freeze(self) -> None:
        if self._workers:
            self._rng.choice(self._workers).freeze(self._rng.uniform(1, 40))

    def _stop(self) -> None:
        if self._workers:
            self._rng.choice(self._workers).stop()

    def _plan_faults(self, every_s: float, fault: Callable[[], None]) -> None:
        at_s = 0.0
        while every_s and (at_s := at_s + self._rng.expovariate(1 / every_s)) < FAULTY_S:
            self.agenda.after(at_s, fault)
