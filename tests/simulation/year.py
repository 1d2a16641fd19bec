"""A year of schedules under a virtual clock, with the real handlers and the real ledger.

There are two leaders, schedule checks that are lost, doubled or crash, downtimes without any check, and edits.
"""

import heapq
import itertools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from sluice.actors.scheduler import manual
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Execute, Look, Message, Plan, Tick
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.schedules.schedule import OpenRuns
from sluice.jobs.simulated import Faults
from sluice.ledger import schedules
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.fixtures import empty
from sluice.ledger.lifecycle import submissions
from sluice.ledger.reads.schedule_states import FiringRecord, recent
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.mortal_ledger import CrashingLedger, SimulatedDeath
from tests.simulation.year_entries import APPS, ENTRIES

FAULTS = Faults(lose=0.05, double=0.1, crash_before_commit=0.02, crash_after_commit=0.02, repeat_commit=0.02)
#: Seconds within which a failed schedule check is followed by another.
NEXT_LOOK_S = 4.0
DOWNTIMES = 24
GROOMINGS = 60
_OBSERVED = ["edited", "leaving", "jittered"]
EDITS = 24
PAUSES = 8


class Year:
    """One year. ``run`` simulates it. Its events are kept for the check afterwards."""

    def __init__(self, url: str, seed: int, folder: Path, first: datetime, end: datetime) -> None:
        self.rng = random.Random(seed)
        self.now = self.first = first
        self.end = end
        self._source = folder / "apps.json"
        self.plain = Ledger(url, connections=1, clock=lambda: self.now)
        self.plain.transact(empty)
        fate = FaultSource(seed, FAULTS)
        self._leaders = [CrashingLedger(url, fate, lambda: self.now) for _ in range(2)]
        self._agenda: list[tuple[datetime, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._catalogues: dict[tuple[int, bool], Catalogue] = {}
        self._version = 0
        self._leaving_is_there = True
        self._under_way: set[str] = set()
        self._waited_for: set[datetime] = set()
        #: Times of the completed schedule checks. A completed check has handled everything that was due.
        self.looks: list[datetime] = []
        #: The rules that ``edited`` has had, and the times at which the ledger took each up.
        self.versions: list[str] = []
        self.changes: list[datetime] = []
        #: Times at which ``leaving`` was added, removed, added again and so on.
        self.presences: list[datetime] = []
        self.pauses: list[tuple[datetime, datetime]] = []
        #: End of each submission of an entry that overlaps.
        self.ends: dict[str, datetime] = {}
        self.downtimes = self._draw_downtimes()

    def run(self) -> None:
        for entry in ENTRIES.values():
            for version in entry.versions:
                for due in version.due_times(self.first, self.end):
                    self._at(due + timedelta(seconds=self.rng.random()), self._look)
        for _, up in self.downtimes:
            self._at(up, self._look)
        for moment in self._draw(EDITS):
            self._at(moment, self._edit)
        for moment in self._draw(PAUSES):
            self._at(moment, self._pause)
        for moment in self._draw(GROOMINGS):
            self._at(moment, self._groom)
        self._at(self.first, self._look)
        while self._agenda and self._agenda[0][0] < self.end:
            self.now, _, event = heapq.heappop(self._agenda)
            event()
        self.now = self.end
        self._heal()

    def close(self) -> None:
        for ledger in (self.plain, *self._leaders):
            ledger.close()

    def firings(self, id_: str) -> list[FiringRecord]:
        """Return the firings of an entry in the order of their due times."""
        return self.plain.transact(lambda tx: recent(tx, id_, 1_000_000))[::-1]

    def is_down(self, at: datetime) -> bool:
        return any(down <= at < up for down, up in self.downtimes)

    def _at(self, moment: datetime, event: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (moment, next(self._numbers), event))

    def _after(self, delay_s: float, event: Callable[[], None]) -> None:
        self._at(self.now + timedelta(seconds=delay_s), event)

    def _draw(self, count: int) -> list[datetime]:
        return [self.first + (self.end - self.first) * self.rng.random() for _ in range(count)]

    def _draw_downtimes(self) -> list[tuple[datetime, datetime]]:
        """Draw downtimes from seconds to days."""
        return [
            (moment, moment + timedelta(seconds=10 ** self.rng.uniform(1, 5.4)))
            for moment in self._draw(DOWNTIMES)
        ]

    def _look(self) -> None:
        """Run a schedule check. If it is lost, or its handler crashes, the next one follows soon."""
        if self.is_down(self.now):
            return
        copies = 0 if self.rng.random() < FAULTS.lose else 2 if self.rng.random() < FAULTS.double else 1
        went_well = False
        for _ in range(copies):
            try:
                self._tell(handle(self.rng.choice(self._leaders), self._catalogue(), Look()))
                went_well = True
            except SimulatedDeath:
                continue
        if went_well:
            self.looks.append(self.now)
        else:
            self._after(self.rng.uniform(1, NEXT_LOOK_S), self._look)
        if copies:
            self._observe()

    def _tell(self, messages: Sequence[Message]) -> None:
        """Deliver the messages, but lose most notifications of the planner. The groomer repeats them at the end."""
        for message in messages:
            if not isinstance(message, Plan) or self.rng.random() < 0.05:
                self._handle(message)

    def _observe(self) -> None:
        """Read the ledger: current definitions, submissions, and the end of jitter."""
        overlapping = [
            schedules.OverlapQuery(id_, entry.app, cares=True)
            for id_, entry in ENTRIES.items()
            if entry.takes_h
        ]
        standing, opened = self.plain.transact(
            lambda tx: (schedules.lock(tx, _OBSERVED), schedules.open_work(tx, overlapping))
        )
        for each in standing.values():
            is_there = each.retired_at is None
            if each.id == "edited" and self.versions[-1:] != [each.rule]:
                self.versions.append(each.rule)
                self.changes.append(self.now)
            if each.id == "leaving" and is_there != bool(len(self.presences) % 2):
                self.presences.append(self.now)
            if each.id == "jittered" and each.fire_at and each.fire_at not in self._waited_for:
                self._waited_for.add(each.fire_at)
                self._at(each.fire_at + timedelta(seconds=self.rng.random()), self._look)
        self._take_on(opened)

    def _take_on(self, opened: Mapping[str, OpenRuns]) -> None:
        """Note new submissions of entries that overlap. Each ends some hours later."""
        for id_, busy in opened.items():
            for submission in busy.own:
                if submission not in self._under_way:
                    self._under_way.add(submission)
                    takes_s = 3600 * self.rng.uniform(*(ENTRIES[id_].takes_h or (0, 0)))
                    self._after(takes_s, partial(self._end_of, submission))

    def _end_of(self, submission: str) -> None:
        """End a submission. The leader notices within a second."""

        def end(tx: Tx) -> bool:
            return submissions.cancel(tx, submission) is not None

        if self.plain.transact(end):
            self.ends[submission] = self.now
            self._after(self.rng.random(), self._look)

    def _edit(self) -> None:
        """Change the rule, or remove or restore an entry. Sometimes this happens during a downtime."""
        if self.rng.random() < 0.5:
            self._version += self.rng.randint(1, 2)
        else:
            self._leaving_is_there = not self._leaving_is_there
        self._after(self.rng.random(), self._look)

    def _pause(self) -> None:
        if self.pauses and self.pauses[-1][1] > self.now:
            return
        resumed = self.now + timedelta(hours=self.rng.uniform(1, 60))
        if manual.pause(self.plain, self._catalogue(), ["paused"]):
            self.pauses.append((self.now, resumed))
            self._at(resumed, self._resume)

    def _resume(self) -> None:
        manual.resume(self.plain, ["paused"])

    def _catalogue(self) -> Catalogue:
        """Return the present definitions. Each variant is loaded once."""
        way = (self._version % 3, self._leaving_is_there)
        if way not in self._catalogues:
            timed = {
                id_: entry.document(self._version)
                for id_, entry in ENTRIES.items()
                if id_ != "leaving" or self._leaving_is_there
            }
            self._source.write_text(json.dumps({**APPS, "schedules": timed}))
            self._catalogues[way] = load([str(self._source)])
        return self._catalogues[way]

    def _heal(self) -> None:
        """Groom for a while without faults, so that the groomer handles everything that is left."""
        for _ in range(20):
            self.now += timedelta(seconds=5)
            self._groom()

    def _groom(self) -> None:
        for message in self._handle(Tick()):
            self._handle(message)

    def _handle(self, message: Message) -> Sequence[Message]:
        """Handle a message. Ready jobs are not run: the check is about submissions alone."""
        return () if isinstance(message, Execute) else handle(self.plain, self._catalogue(), message)
