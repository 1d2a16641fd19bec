"""Random apps whose jobs with keys make the days of a table, submissions for them, and checks of what is made of them.

The checks know the runs of these jobs from their transitions alone: a day has new contents when all of its jobs have
succeeded, one of them again.
"""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from tests.simulation.removals import KnownRow
from tests.simulation.tables import DAYS, Partition, Tables, day_of, keys_of

#: App whose jobs make the days of a table, and the app that some of these jobs need.
MAKER, RAW = "days", "raw"
#: Messages of users in a world with such apps, at least and at most.
WISHES = (6, 12)
_MOVES = """
SELECT transition.id, job.id, job.app, job.key, transition.target, transition.claim
FROM transition JOIN job ON job.id = transition.job WHERE transition.id > %(since)s ORDER BY transition.id
"""
_SUCCEEDED = f"SELECT key FROM job WHERE app = '{MAKER}' AND state = '{State.SUCCEEDED}' ORDER BY id"
_CLAIMS = "SELECT id, claim FROM job WHERE output_table IS NOT NULL"


#: Contents that a partition was made from: the successes of the jobs of each day that it reads, or the contents of
#: each partition. None if it does not exist.
Contents = tuple[Any, ...] | None


def with_drawn_days(rng: random.Random, apps: dict[str, Any], table: str) -> dict[str, Any]:
    """Return the apps. In more than half of the worlds with readers of this table, its days are made by jobs with keys.

    Other worlds draw the same as without this choice.
    """
    readings = [each for words in apps.values() for each in words.get("table_dependencies", ())]
    drawn = random.Random(str(rng.getstate()))
    if not any(each["table"] == table for each in readings) or drawn.random() < 0.4:
        return apps
    dated = drawn_dated(drawn)
    made = {MAKER: dated | {"output_table": table, "max_fails": drawn.choice((0, 1, 2))}}
    if drawn.random() < 0.4:
        made = {RAW: dated | {"max_fails": 2}, MAKER: made[MAKER] | {"depends_on": {"app_name": [RAW]}}}
    return apps | made


def drawn_dated(drawn: random.Random) -> dict[str, Any]:
    """Draw an app with one job or two jobs for each day."""
    dated: dict[str, Any] = {
        "job_id": "{date}",
        "identifiers": {"date": "date"},
        "bash_cmd": "true",
        "max_losses": 50,
    }
    if drawn.random() < 0.7:
        dated |= {"job_id": "{date}_{shop}", "autofill_values": {"shop": ["g", "o"]}}
    return dated


def is_dated(words: Mapping[str, Any]) -> bool:
    return "identifiers" in words


def drawn_day_words(
    rng: random.Random, app: str, words: Mapping[str, Any], window: Sequence[int]
) -> dict[str, Any]:
    """Draw a submission of a job or of a range of days, mostly with a rerun."""
    first, last = sorted(rng.choice(window) for _ in range(2))
    drawn: dict[str, Any] = {"app": app}
    if rng.random() < 0.6:
        drawn |= {"key": rng.choice(keys_of(words, first))}
    else:
        drawn |= {"start": DAYS.write(first), "end": DAYS.write(last)}
    if rng.random() < 0.3:
        drawn["push"] = "wanted"
    if rng.random() < (0.3 if "table_dependencies" in words else 0.6):
        drawn["rerun"] = rng.choice(("job", "downstream"))
    return drawn


def drawn_times(rng: random.Random, within_s: float) -> Iterator[float]:
    """Draw the times at which days change, in seconds: mostly when partitions have been made from them."""
    return (within_s * (0.3 + 0.7 * rng.random()) for _ in range(rng.randint(1, 4)))


def drawn_change(rng: random.Random, tx: Tx) -> Submission | None:
    """Draw a rerun of succeeded jobs of days. None if no job has succeeded."""
    keys: list[str] = tx.column(_SUCCEEDED)
    return (
        Submission(app=MAKER, keys=tuple(rng.sample(keys, min(2, len(keys)))), rerun="job") if keys else None
    )


class _Maker:
    """App whose jobs make the days of a table, and the runs of these jobs."""

    def __init__(self, app: str, table: str, words: Mapping[str, Any]) -> None:
        self.app = app
        self.table = table
        self._words = words
        self._states: dict[str, str] = {}
        self.successes: dict[str, int] = {}
        #: Successes of the jobs of each day that was complete, when it was complete last.
        self.contents: dict[int, Contents] = {}

    def move(self, key: str, target: str, id: int) -> None:
        self._states[key] = target
        if target == State.SUCCEEDED:
            self.successes[key] = id
            if self._is_complete(day := day_of(key)):
                self.contents[day] = tuple(self.successes[each] for each in keys_of(self._words, day))

    def forget(self, key: str) -> None:
        """Note that the job was removed. Its day keeps its contents."""
        self._states.pop(key, None)

    def lacks(self, day: int) -> list[str]:
        """Return the keys of a day of which no job has succeeded."""
        return [key for key in keys_of(self._words, day) if key not in self.successes]

    def complete(self) -> set[int]:
        """Return the days of which all jobs have succeeded."""
        return {day for day in map(day_of, self._states) if self._is_complete(day)}

    def _is_complete(self, day: int) -> bool:
        return all(self._states.get(key) == State.SUCCEEDED for key in keys_of(self._words, day))


class DayWatch:
    """Runs of the jobs that make the days of tables, and what each partition was made from."""

    def __init__(self, apps: Mapping[str, Any], tables: Tables, landed: Collection[Partition]) -> None:
        self._tables = tables
        self._landed = landed
        makers = [_Maker(each.app, each.table, apps[each.app]) for each in tables if each.is_daily]
        self._by_app = {each.app: each for each in makers}
        self._by_table = {each.table: each for each in makers}
        self._since = 0
        #: Contents that each claim of a step has found, by partition.
        self._found: dict[tuple[int, int], dict[Partition, Contents]] = {}
        self._made: dict[Partition, Contents] = {}
        self._owned: dict[Partition, int | None] = {}

    @property
    def is_idle(self) -> bool:
        """Return whether jobs with keys make no table."""
        return not self._by_app

    def is_day(self, partition: Partition) -> bool:
        """Return whether jobs with keys make this partition."""
        return partition.table in self._by_table

    def contents(self, day: Partition) -> Contents:
        """Return the successes that have made a day."""
        return self._by_table[day.table].contents.get(day.number)

    def forget(self, jobs: Iterable[KnownRow]) -> None:
        """Note that jobs were removed."""
        for job in jobs:
            if job.app in self._by_app:
                self._by_app[job.app].forget(job.key)

    def look(
        self, tx: Tx, jobs: Mapping[int, tuple[str, Span]], begin: Callable[[int, int], None]
    ) -> Iterator[str]:
        """Follow the transitions since the last call. Yield the jobs that began before the jobs that they need.

        ``jobs`` has the table and the span of each step, and of each job that makes days. ``begin`` is called with each
        of these jobs that begins, and with its claim.
        """
        for id, job, app, key, target, claim in tx.rows(_MOVES, since=self._since):
            self._since = id
            if app in self._by_app:
                self._by_app[app].move(key, target, id)
            if job in jobs and target == State.RUNNING:
                begin(job, claim)
                yield from self._begin((job, claim), *jobs[job])

    def note(
        self,
        tx: Tx,
        owners: Mapping[Partition, int | None],
        existing: Iterable[Partition],
        before: Collection[Partition],
    ) -> None:
        """Note what the partitions that did not exist ``before`` were made from."""
        new = [each for each in existing if each not in before and not self.is_day(each)]
        claims = dict(tx.rows(_CLAIMS)) if new else {}
        for each in new:
            job = self._owned[each] = owners[each]
            if job is not None:
                self._made[each] = self._found.get((job, claims.get(job, 0)), {}).get(each)

    def wrong(
        self, existing: Collection[Partition], stale: Collection[Partition], ever_stale: Collection[Partition]
    ) -> Iterator[str]:
        """Yield days that exist too early, and partitions that are stale without a reason."""
        for each in existing:
            if self.is_day(each):
                if each.number not in self._by_table[each.table].contents:
                    yield f"{each} exists, although not all of its jobs have succeeded"
            elif each in stale and not self._is_vague(each) and not self._may_be_stale(each, ever_stale):
                yield f"{each} is stale, although no job of a day that it reads has run again"

    def left(self, existing: Collection[Partition], stale: Collection[Partition]) -> Iterator[str]:
        """Yield missing days, and partitions that are not stale, in a world at rest."""
        for maker in self._by_table.values():
            recorded = {each.number for each in existing if each.table == maker.table}
            for day in maker.complete() - recorded:
                yield f"{maker.table} {DAYS.write(day)} does not exist, although all of its jobs have succeeded"
        for each in existing:
            if self.is_day(each) or each in stale or self._is_vague(each):
                continue
            if self._made.get(each) != self._fresh(each):
                yield f"{each} is not stale, although a job of a day that it reads has run again"

    def _begin(self, right: tuple[int, int], table: str, span: Span) -> Iterator[str]:
        partitions = [self._tables.partition(table, number) for number in range(span.first, span.last + 1)]
        self._found[right] = {each: self._read(each) for each in partitions}
        for reading, day in dict.fromkeys(chain.from_iterable(map(self._tables.inputs, partitions))):
            if reading.cumulative or not self.is_day(day) or day in self._landed:
                continue
            for key in self._by_table[day.table].lacks(day.number):
                yield f"{table} {span} ran before {self._by_table[day.table].app}/{key} had succeeded"

    def _read(self, made: Partition) -> Contents:
        """Return the contents that a run of this partition's job reads now."""
        return tuple(
            self.contents(each) if self.is_day(each) else self._made.get(each)
            for _, each in self._tables.inputs(made)
        )

    def _fresh(self, made: Partition) -> Contents:
        """Return the contents that this partition would have if everything that it is made from were made again, except
        for days."""
        return tuple(
            self.contents(each) if self.is_day(each) else self._fresh(each)
            for _, each in self._tables.inputs(made)
        )

    def _is_vague(self, made: Partition) -> bool:
        """Return whether the partition has landed, or reads such a partition, or does not read exactly known ones."""
        if self.is_day(made):
            return False
        return (
            made in self._landed
            or self._tables.get(made.table) is None
            or any(
                not reading.is_exact or self._is_vague(each) for reading, each in self._tables.inputs(made)
            )
        )

    def _may_be_stale(self, made: Partition, ever_stale: Collection[Partition]) -> bool:
        """Return whether any run of the partition's job began before a change, also a run that failed; or whether the
        partition reads one that has been stale."""
        job, fresh = self._owned.get(made), self._fresh(made)
        found = [each.get(made) for right, each in self._found.items() if right[0] == job]
        return any(each != fresh for each in found) or any(
            each in ever_stale for _, each in self._tables.inputs(made)
        )
