"""Random apps whose jobs with keys make the days of a table, submissions for them, and checks of what is made of them.

The checks know the runs of these jobs from their transitions alone: a day has new contents when all of its jobs have
succeeded, one of them again.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import Partitioning, TableDependency
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx

#: App whose jobs make the days of a table, and the app that some of these jobs need.
MAKER, RAW = "days", "raw"
#: Messages of users in a world with such apps, at least and at most.
WISHES = (6, 12)
DAYS = Calendar("day")
_MOVES = """
SELECT transition.id, job.id, job.app, job.key, transition.target, transition.claim
FROM transition JOIN job ON job.id = transition.job WHERE transition.id > %(since)s ORDER BY transition.id
"""
_SUCCEEDED = f"SELECT key FROM job WHERE app = '{MAKER}' AND state = '{State.SUCCEEDED}' ORDER BY id"
_CLAIMS = "SELECT id, claim FROM job WHERE output_table IS NOT NULL"


class Partition(NamedTuple):
    table: str
    version: str
    number: int

    def __str__(self) -> str:
        return f"{self.table} {DAYS.write(self.number)}"


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
    is_wide = drawn.random() < 0.7
    dated: dict[str, Any] = {
        "job_id": "{date}_{shop}" if is_wide else "{date}",
        "identifiers": {"date": "date"},
        "bash_cmd": "true",
        "max_losses": 50,
    }
    if is_wide:
        dated["autofill_values"] = {"shop": ["g", "o"]}
    made = {MAKER: dated | {"output_table": table, "max_fails": drawn.choice((0, 1, 2))}}
    if drawn.random() < 0.4:
        made = {RAW: dated | {"max_fails": 2}, MAKER: made[MAKER] | {"depends_on": {"app_name": [RAW]}}}
    return apps | made


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
    if rng.random() < 0.6:
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


def keys_of(words: Mapping[str, Any], day: int) -> list[str]:
    """Return the keys of the jobs of a day."""
    values = words.get("autofill_values", {}).values()
    return ["_".join((DAYS.write(day).replace("-", ""), *each)) for each in product(*values)]


class DayWatch:
    """Runs of the jobs that make the days of a table, and what each partition was made from.

    ``made_by`` has the definition and the version of the app with partitions that makes each other table.
    """

    def __init__(
        self,
        words: Mapping[str, Any],
        made_by: Mapping[str, tuple[Partitioning, str]],
        landed: Collection[Partition],
    ) -> None:
        self._words = words
        self._made_by = made_by
        self._tables = {version: table for table, (_, version) in made_by.items()}
        self._landed = landed
        self._since = 0
        self._states: dict[str, str] = {}
        self._successes: dict[str, int] = {}
        self._contents: dict[int, Contents] = {}
        #: Contents that each claim of a step has found, by partition.
        self._found: dict[tuple[int, int], dict[Partition, Contents]] = {}
        self._made: dict[Partition, Contents] = {}
        self._owned: dict[Partition, int | None] = {}

    @property
    def table(self) -> str:
        return str(self._words["output_table"])

    def look(self, tx: Tx, steps: Mapping[int, tuple[str, Span]]) -> Iterator[str]:
        """Follow the transitions since the last call. Yield the steps that began before the jobs that they need.

        ``steps`` has the table and the span of each step.
        """
        for id, job, app, key, target, claim in tx.rows(_MOVES, since=self._since):
            self._since = id
            if app == MAKER:
                self._move(key, target, id)
            elif job in steps and target == State.RUNNING:
                table, span = steps[job]
                yield from self._begin((job, claim), table, span)

    def note(
        self,
        tx: Tx,
        owners: Mapping[Partition, int | None],
        existing: Iterable[Partition],
        before: Collection[Partition],
    ) -> None:
        """Note what the partitions that did not exist ``before`` were made from."""
        new = [each for each in existing if each not in before and each.table != self.table]
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
            if each.table == self.table:
                if each.number not in self._contents:
                    yield f"{each} exists, although not all of its jobs have succeeded"
            elif each in stale and not self._is_vague(each) and not self._may_be_stale(each, ever_stale):
                yield f"{each} is stale, although no job of a day that it reads has run again"

    def left(self, existing: Collection[Partition], stale: Collection[Partition]) -> Iterator[str]:
        """Yield missing days, and partitions that are not stale, in a world at rest."""
        recorded = {each.number for each in existing if each.table == self.table}
        for day in {_day_of(key) for key in self._states} - recorded:
            if self._is_complete(day):
                yield f"{self.table} {DAYS.write(day)} does not exist, although all of its jobs have succeeded"
        for each in existing:
            if each.table == self.table or each in stale or self._is_vague(each):
                continue
            if self._made.get(each) != self._fresh(each):
                yield f"{each} is not stale, although a job of a day that it reads has run again"

    def _move(self, key: str, target: str, id: int) -> None:
        self._states[key] = target
        if target == State.SUCCEEDED:
            self._successes[key] = id
            if self._is_complete(day := _day_of(key)):
                self._contents[day] = tuple(self._successes[each] for each in keys_of(self._words, day))

    def _begin(self, right: tuple[int, int], table: str, span: Span) -> Iterator[str]:
        partitions = [self._partition(table, number) for number in range(span.first, span.last + 1)]
        self._found[right] = {each: self._read(each) for each in partitions}
        for dependency, day in {each for partition in partitions for each in self._days_of(partition)}:
            if dependency.cumulative or Partition(self.table, DAYS.unit, day) in self._landed:
                continue
            for key in keys_of(self._words, day):
                if key not in self._successes:
                    yield f"{table} {span} ran before {MAKER}/{key} had succeeded"

    def _days_of(self, made: Partition) -> Iterator[tuple[TableDependency, int]]:
        return ((dependency, day) for dependency, day in self._inputs(made) if dependency.table == self.table)

    def _inputs(self, made: Partition) -> Iterator[tuple[TableDependency, int]]:
        """Yield the numbers of the partitions that this one is made from, each with the dependency."""
        for dependency in self._made_by[made.table][0].dependencies:
            if (reach := dependency.needed_for(Span(made.number, made.number), DAYS)) is not None:
                first = made.number if reach.first is None else reach.first
                for number in range(min(first, reach.last), reach.last + 1):
                    yield dependency, number

    def _read(self, made: Partition) -> Contents:
        """Return the contents that a run of this partition's job reads now."""
        return tuple(
            self._contents.get(number)
            if dependency.table == self.table
            else self._made.get(self._partition(dependency.table, number))
            for dependency, number in self._inputs(made)
        )

    def _fresh(self, made: Partition) -> Contents:
        """Return the contents that this partition would have if everything that it is made from were made again."""
        return tuple(
            self._contents.get(number)
            if dependency.table == self.table
            else self._fresh(self._partition(dependency.table, number))
            for dependency, number in self._inputs(made)
        )

    def _is_vague(self, made: Partition) -> bool:
        """Return whether the partition has landed, or reads such a partition, or does not read exactly known ones."""
        dependencies = self._made_by[made.table][0].dependencies
        return (
            made in self._landed
            or any(each.cumulative or each.start_offset is None for each in dependencies)
            or any(self._is_vague(each) for each in self._steps_read_by(made))
        )

    def _may_be_stale(self, made: Partition, ever_stale: Collection[Partition]) -> bool:
        """Return whether any run of the partition's job began before a change, also a run that failed; or whether the
        partition reads one that has been stale."""
        job, fresh = self._owned.get(made), self._fresh(made)
        found = [each.get(made) for right, each in self._found.items() if right[0] == job]
        return any(each != fresh for each in found) or any(
            each in ever_stale for each in self._steps_read_by(made)
        )

    def _steps_read_by(self, made: Partition) -> Iterator[Partition]:
        for dependency, number in self._inputs(made):
            if dependency.table != self.table:
                yield self._partition(dependency.table, number)

    def _partition(self, table: str, number: int) -> Partition:
        return Partition(table, self._made_by[table][1], number)

    def _is_complete(self, day: int) -> bool:
        return all(self._states.get(key) == State.SUCCEEDED for key in keys_of(self._words, day))


def _day_of(key: str) -> int:
    return DAYS.read(f"{key[:4]}-{key[4:6]}-{key[6:8]}")
