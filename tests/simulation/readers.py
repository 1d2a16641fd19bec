"""Random apps whose jobs with keys read tables, and checks of what each of these jobs has read.

A job is outdated if a partition that it reads is stale, or was made after the job began. The checks number the makings
of each partition. The contents of a day that jobs with keys make are the successes of these jobs.
"""

import random
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.states import LIVE, UNSUCCESSFUL, State, sql_list
from sluice.ledger.database.connection import Tx
from tests.simulation.days import MAKER, RAW, DayWatch, drawn_dated
from tests.simulation.removals import KnownRow
from tests.simulation.tables import Partition, Tables, day_of

#: App whose jobs read tables, an app that needs these jobs, and an app with partitions that reads their days.
READER, CHILD, AFTER = "reads", "mail", "after"
#: Options that jobs with the same keys have in common.
_SHAPE = ("job_id", "identifiers", "autofill_values", "bash_cmd", "max_losses")
_JOBS = f"SELECT id, app, key, state, claim FROM job WHERE app IN ('{READER}', '{CHILD}')"
_REQUESTS = f"""
SELECT submission, job, request_reason, submission.request ? 'rerun' FROM submission_job
JOIN submission ON submission.number = submission_job.submission JOIN job ON job.id = submission_job.job
WHERE job.app IN ('{READER}', '{CHILD}')
"""
_UNSUCCESSFUL = (
    f"SELECT app || '/' || key FROM job WHERE state IN ({sql_list(*sorted(UNSUCCESSFUL))}) LIMIT 1"
)


class Rows(NamedTuple):
    """Partitions in the ledger: the owner of each, the time since when each existing one exists, and those that are or
    will be stale."""

    owners: Mapping[Partition, int | None]
    done: Mapping[Partition, datetime]
    stale: set[Partition]

    @property
    def there(self) -> set[Partition]:
        return {*self.done}


class Step(NamedTuple):
    """Job that makes partitions of a table, or takes part in making a day."""

    table: str
    span: Span
    state: State


class _Run(NamedTuple):
    """State of a job, and its last claim."""

    state: State
    claim: int


def with_drawn_readers(rng: random.Random, apps: dict[str, Any], external: str) -> dict[str, Any]:
    """Return the apps. In two of five worlds with partitions, jobs with keys read some of their tables. Other worlds
    draw the same as without this choice."""
    drawn = random.Random(f"readers {rng.getstate()}")
    steps = [name for name, words in apps.items() if "partition" in words]
    if not steps or drawn.random() < 0.6:
        return apps
    dated = (
        {key: apps[MAKER][key] for key in _SHAPE if key in apps[MAKER]}
        if MAKER in apps
        else drawn_dated(drawn)
    )
    tables = {drawn.choice(steps), *([external] if drawn.random() < (0.6 if MAKER in apps else 0.35) else [])}
    reader = dated | {
        "max_fails": drawn.choice((0, 1, 2)),
        "table_dependencies": [_drawn_reading(drawn, table) for table in sorted(tables)],
    }
    if drawn.random() < 0.5:
        reader["output_table"] = "read"
    if RAW in apps and drawn.random() < 0.5:
        reader["depends_on"] = {"app_name": [RAW]}
    added = {READER: reader}
    if drawn.random() < 0.4:
        added[CHILD] = dated | {"max_fails": 2, "depends_on": {"app_name": [READER]}}
    if drawn.random() < 0.5:
        reading = {"table": reader.get("output_table", READER), "start_offset": drawn.choice((0, 0, 1))}
        added[AFTER] = {
            "bash_cmd": "true",
            "partition": "day",
            "step_size": drawn.randint(1, 3),
            "table_dependencies": [reading],
            "max_fails": 1,
            "max_losses": 50,
        }
    return apps | added


class ReaderWatch:
    """Runs of the jobs with keys that read tables."""

    def __init__(self, tables: Tables, days: DayWatch) -> None:
        self._tables = tables
        self._days = days
        self._table = tables.of(READER)
        self._is_vague = self._table is not None and not all(each.is_exact for each in self._table.readings)
        self._keys: dict[int, tuple[str, str]] = {}
        #: Keys of removed jobs that read tables. Days may be stale because of them.
        self._removed: dict[int, str] = {}
        self._runs: dict[int, _Run] = {}
        self._before: dict[int, _Run] = {}
        self._requests: set[tuple[int, int]] = set()
        self._done: Mapping[Partition, datetime] = {}
        self._stale: set[Partition] = set()
        #: Number of makings of each partition.
        self._makings: dict[Partition, int] = {}
        #: Contents of the partitions that each claim of a job has found.
        self._found: dict[tuple[int, int], dict[Partition, object]] = {}
        #: Jobs that were outdated after the last step, and those of them that are so because of steps.
        self._outdated: set[int] = set()
        self._outdated_by_steps: set[int] = set()
        #: What was requested last, in a world at rest: everything that is stale, or all jobs that read tables.
        self.last_request: Literal["stale", "all"] | None = None

    @property
    def is_idle(self) -> bool:
        """Return whether no jobs with keys read tables."""
        return self._table is None

    def jobs(self, tx: Tx) -> dict[int, Step]:
        """Read the jobs, and return those that read tables."""
        if self._table is None:
            return {}
        rows = tx.rows(_JOBS)
        self._keys = {id: (app, key) for id, app, key, _, _ in rows}
        self._before = self._runs
        self._runs = {id: _Run(State(state), claim) for id, _, _, state, claim in rows}
        return {
            id: Step(self._table.table, Span(day_of(key), day_of(key)), self._runs[id].state)
            for id, (app, key) in self._keys.items()
            if app == READER
        }

    def forget(self, jobs: Collection[KnownRow]) -> None:
        """Note that jobs were removed."""
        for job in jobs:
            if job.app == READER:
                self._removed[job.id] = job.key
            self._outdated.discard(job.id)
            self._outdated_by_steps.discard(job.id)
            self._runs.pop(job.id, None)

    def note(self, rows: Rows) -> None:
        """Note which partitions were made since the last call."""
        for each, done_at in rows.done.items():
            if self._done.get(each) != done_at:
                self._makings[each] = self._makings.get(each, 0) + 1
        self._done, self._stale = rows.done, rows.stale

    def begin(self, job: int, claim: int) -> None:
        """Note what a job finds when it begins."""
        if self._keys.get(job, ("", ""))[0] == READER:
            self._found[job, claim] = {each: self._contents(each) for each in self._inputs(job)}

    def look(self, tx: Tx, ever_stale: Collection[Partition]) -> Iterator[str]:
        """Yield the jobs that ran again without a reason, that did not run again although they were outdated, and days
        that are stale without a reason."""
        if self._table is None:
            return
        requests = {(number, job): (reason, rerun) for number, job, reason, rerun in tx.rows(_REQUESTS)}
        new = {key: requests[key] for key in requests.keys() - self._requests}
        self._requests |= new.keys()
        again = {job for (_, job), (_, is_rerun) in new.items() if is_rerun}
        outdated = {id for id in self._readers() if self._is_outdated(id)}
        if not self._is_vague:
            yield from self._without_reason(again, outdated | self._outdated)
        requested = {job for (_, job), (reason, _) in new.items() if reason != RequestReason.PUSHED}
        yield from self._left_as_they_are(requested, self._outdated_by_steps)
        self._outdated = outdated
        self._outdated_by_steps = {id for id in outdated if self._is_outdated(id, with_days=False)}
        for each in self._stale & self._done.keys():
            if each.table == self._table.table and not self._may_be_stale(each, ever_stale):
                yield f"{each} is stale, although no partition that its jobs read has changed"

    def left(self, tx: Tx, rows: Rows) -> Iterator[str]:
        """Yield what the last requests should have made again, in a world at rest."""
        if self.last_request == "stale" and not tx.column(_UNSUCCESSFUL):
            for each in sorted(rows.stale & rows.there):
                yield f"{each} is stale, although everything that is stale was requested"
        if self.last_request == "all" and not self._is_vague:
            for id in filter(self._is_outdated, self._readers()):
                yield f"{self._name(id)} is outdated, although it was requested"

    def _without_reason(self, again: set[int], outdated: set[int]) -> Iterator[str]:
        for id, before in self._before.items():
            if self._keys[id][0] != READER or before.state != State.SUCCEEDED or self._runs.get(id) == before:
                continue
            if id not in again and id not in outdated:
                yield f"{self._name(id)} runs again, although no partition that it reads has changed"

    def _left_as_they_are(self, requested: set[int], outdated: set[int]) -> Iterator[str]:
        """Yield the outdated jobs that did not run again although they were requested, or needed by a job that was."""
        kept = {
            self._keys[id][1]: id
            for id in outdated
            if self._runs[id] == self._before.get(id) and self._runs[id].state == State.SUCCEEDED
        }
        for id in requested:
            app, key = self._keys[id]
            if key not in kept:
                continue
            if app == READER:
                yield f"{self._name(id)} does not run again, although a partition that it reads has changed"
            elif self._runs[id].state in LIVE and self._runs[id] != self._before.get(id):
                yield f"{self._name(id)} runs, although {self._name(kept[key])} is outdated"

    def _is_outdated(self, job: int, *, with_days: bool = True) -> bool:
        """Return whether a succeeded job has to run again."""
        run = self._runs[job]
        found = self._found.get((job, run.claim), {})
        return run.state == State.SUCCEEDED and any(
            (with_days and self._contents(each) != contents)
            if self._days.is_day(each)
            else (each not in self._done or each in self._stale or self._contents(each) != contents)
            for each, contents in found.items()
        )

    def _may_be_stale(self, day: Partition, ever_stale: Collection[Partition]) -> bool:
        """Return whether a partition that the day's jobs read has changed since any run of them began."""
        for reading, each in self._tables.inputs(day):
            if each in ever_stale or each not in self._done or not reading.is_exact:
                return True
        known = self._removed | {id: key for id, (app, key) in self._keys.items() if app == READER}
        jobs = {id for id, key in known.items() if day_of(key) == day.number}
        return any(
            self._contents(each) != contents
            for (job, _), found in self._found.items()
            if job in jobs
            for each, contents in found.items()
        )

    def _readers(self) -> list[int]:
        return [id for id, (app, _) in self._keys.items() if app == READER]

    def _inputs(self, job: int) -> Iterator[Partition]:
        """Yield the partitions that a job reads, if they depend on its day alone."""
        assert self._table is not None
        day = self._tables.partition(self._table.table, day_of(self._keys[job][1]))
        return (each for reading, each in self._tables.inputs(day) if reading.is_exact)

    def _contents(self, partition: Partition) -> object:
        return (
            self._days.contents(partition) if self._days.is_day(partition) else self._makings.get(partition)
        )

    def _name(self, job: int) -> str:
        return "/".join(self._keys[job])


def _drawn_reading(drawn: random.Random, table: str) -> dict[str, Any]:
    reading: dict[str, Any] = {"table": table, "start_offset": drawn.choice((0, 0, 1, 2))}
    if drawn.random() < 0.1:
        reading["cumulative"] = True
    elif drawn.random() < 0.06:
        reading["start_offset"] = None
    return reading
