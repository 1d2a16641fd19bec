"""Random apps that are keyed by partition, submissions for them, and checks of their partitions after each step."""

import random
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sluice.broker.messages import Landed
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Span
from sluice.jobs.keys.partitions import read_span, span_text, without_version
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx
from tests.simulation.days import MAKER, DayWatch, drawn_day_words
from tests.simulation.readers import ReaderWatch, Rows, Step
from tests.simulation.removals import KnownRow
from tests.simulation.slices import drawn_by
from tests.simulation.tables import DAYS, Partition, Tables, slices_of

_FIRST = DAYS.read("2024-04-01")
#: Days that are requested. The steps may read days before these.
_WINDOW = range(_FIRST, _FIRST + 9)
_BACK_MAX = 2
OUTSIDE = "outside"

_ROWS = """
SELECT table_name, version, partition, job, done_at, stale_since IS NOT NULL FROM partition
"""
_STEPS = "SELECT id, app, key, state FROM job WHERE output_table IS NOT NULL"
_BEGUN = f"SELECT job FROM transition WHERE id > %(since)s AND target = '{State.RUNNING}'"
_RAN = "SELECT id FROM job WHERE claim > 0"
_ASKED_ANEW = """
SELECT DISTINCT submission_job.job FROM submission_job JOIN submission ON submission.number = submission_job.submission
WHERE submission.request ? 'rerun'
"""
# Steps that wait for a live step which their submission does not request. A submission that requests a step also
# requests the steps that it waits for, even if another submission requested them first.
_HALF_WANTED = f"""
SELECT DISTINCT child.app || '/' || child.key || ' for ' || submission.id
FROM need JOIN job child ON child.id = need.child JOIN job parent ON parent.id = need.parent
JOIN submission_job ON submission_job.job = child.id JOIN submission ON submission.number = submission_job.submission
WHERE need.met IS NULL AND child.output_table IS NOT NULL AND child.state = '{State.WAITING}'
  AND parent.state IN ({sql_list(*sorted(LIVE - {State.EXPECTED}))}) AND submission.state = '{SubmissionState.ACTIVE}'
  AND NOT EXISTS (SELECT 1 FROM submission_job own WHERE own.submission = submission_job.submission
      AND own.job = parent.id)
"""
_SUCCEEDED = f"""
SELECT id, app, request ->> 'start', request ->> 'end', request -> 'by' FROM submission
WHERE state = '{SubmissionState.SUCCEEDED}' AND request ? 'start'
"""


def drawn_partition_apps(rng: random.Random) -> dict[str, Any]:
    """Draw no apps, or two to four.

    Each may read the tables of earlier apps, and a table that is filled from outside.
    """
    apps: dict[str, Any] = {}
    for place in range(rng.choice((0, 0, 0, 2, 3, 4))):
        tables = [name for name in (*apps, OUTSIDE) if rng.random() < (0.25 if name == OUTSIDE else 0.6)]
        apps[f"steps{place}"] = {
            "bash_cmd": "true",
            "partition": "day",
            "step_size": rng.randint(1, 4),
            "table_dependencies": [_drawn_reading(rng, table) for table in tables],
            "max_fails": rng.choice((0, 1, 2)),
            "max_timeouts": rng.choice((0, 1)),
            "max_losses": rng.choice((0, 2, 50)),
            "timeout": rng.choice((8, 60)),
            "priority": rng.choice((0, 0, 3)),
        }
    return apps


def is_by_partition(words: dict[str, Any]) -> bool:
    return "partition" in words


def drawn_partition_words(rng: random.Random, app: str, defined: dict[str, Any]) -> dict[str, Any]:
    """Draw a submission of a range, sometimes of one slice, and sometimes with a rerun."""
    first, last = sorted(rng.choice(_WINDOW) for _ in range(2))
    words: dict[str, Any] = {"app": app, "start": DAYS.write(first), "end": DAYS.write(last)}
    if rng.random() < 0.2:
        words["rerun"] = rng.choice(("job", "downstream"))
    return words | drawn_by(rng, defined)


def drawn_dated_words(rng: random.Random, app: str, words: dict[str, Any]) -> dict[str, Any]:
    """Draw a submission of jobs that have a day in their key."""
    return drawn_day_words(rng, app, words, _WINDOW)


def drawn_landing(rng: random.Random, apps: dict[str, Any]) -> Landed:
    """Draw a landing of partitions from outside, or of partitions that an app would make. Days of jobs with keys do not
    land."""
    tables = [name for name, words in apps.items() if is_by_partition(words)]
    readings = (each for words in apps.values() for each in words.get("table_dependencies", ()))
    if MAKER not in apps and any(each["table"] == OUTSIDE for each in readings):
        tables += [OUTSIDE, OUTSIDE]
    first = rng.choice(_WINDOW)
    table = rng.choice(tables)
    return Landed(
        table=random.Random(f"slice {rng.getstate()}").choice(slices_of(apps, table)),
        partitions=(_range(first, first + rng.randint(0, 3)),),
        again=rng.random() < 0.3,
    )


def all_landed(catalogue: Catalogue) -> list[Landed]:
    """Return landings of all partitions from outside that any job may wait for."""
    return [
        Landed(table=table, partitions=(_range(_WINDOW[0] - 6 * _BACK_MAX, _WINDOW[-1]),))
        for table in catalogue.externals
        if catalogue.makes_days_of(table) is None
    ]


def all_days(app: str) -> Submission:
    """Return a submission for all jobs of an app that has a day in its keys."""
    return Submission(app=app, start=DAYS.write(_WINDOW[0]), end=DAYS.write(_WINDOW[-1]), push="wanted")


class Watch:
    """Checks of every partition after each step. It remembers all partitions that ever existed."""

    def __init__(self, catalogue: Catalogue, apps: dict[str, Any]) -> None:
        self._tables = Tables(catalogue, apps)
        self._is_idle = not any(app.partitioning for app in catalogue.values())
        self._there: set[Partition] = set()
        self._ever: set[Partition] = set()
        self._landed: set[Partition] = set()
        self._ever_stale: set[Partition] = set()
        #: Partitions of which the job was removed, and those of them for which a rerun of it was requested.
        self._disowned: set[Partition] = set()
        self._again: set[Partition] = set()
        #: Owners of the partitions after the last step, and the jobs for which a rerun was requested.
        self._owners: Mapping[Partition, int | None] = {}
        self._anew: set[int] = set()
        self._days = DayWatch(apps, self._tables, self._landed)
        self.readers = ReaderWatch(self._tables, self._days)

    @property
    def has_days(self) -> bool:
        """Return whether jobs with keys make the days of a table."""
        return not self._days.is_idle

    @property
    def is_idle(self) -> bool:
        return self._is_idle

    def hear(self, landing: Landed) -> None:
        """Note a landing. Its partitions may exist although no job has made them."""
        spans = [read_span(DAYS, text) for text in landing.partitions]
        self._landed |= {
            self._tables.partition(landing.table, each) for span in spans for each in _each(span)
        }

    def forget(self, jobs: Collection[KnownRow]) -> None:
        """Note that jobs were removed."""
        gone = {job.id for job in jobs}
        for each in self._there:
            if self._owners.get(each) in gone:
                self._disowned.add(each)
        self._again |= {each for each, job in self._owners.items() if job in gone & self._anew}
        self._days.forget(jobs)
        self.readers.forget(jobs)

    def look(self, tx: Tx, since: int) -> list[str]:
        """Return the violations. ``since`` is the last transition before this step."""
        rows = _read(tx)
        owners, there, stale = rows.owners, rows.there, rows.stale
        self._ever_stale |= stale
        steps = {id: self._step(*row) for id, *row in tx.rows(_STEPS)}
        jobs = steps | self.readers.jobs(tx)
        ran, anew = set(tx.column(_RAN)), set(tx.column(_ASKED_ANEW))
        begun = [jobs[job] for job in tx.column(_BEGUN, since=since) if job in jobs]
        gone = self._there - there
        self._owners, self._anew = owners, anew
        self._disowned &= there
        wrong = self._look_at_days(tx, jobs, rows)
        self._there, self._ever = there, self._ever | there
        return [
            *wrong,
            *(
                f"{each} no longer exists, although no rerun was requested"
                for each in gone - self._ever_stale
                if owners[each] not in anew
            ),
            *(
                f"{each} is not stale, although {read} is"
                for each in (there - stale - self._landed if stale else ())
                for read in self._made_from(each) & stale & there
            ),
            *(
                f"{each} exists, although no job has run for it and it has not landed"
                for each in there - self._landed - self._disowned
                if owners[each] not in ran and not self._days.is_day(each)
            ),
            *(
                f"{step.table} {step.span} is unfinished, and does not own {each}"
                for id, step in steps.items()
                if step.state in LIVE
                for each in self._of(step)
                if owners.get(each) != id and each not in self._ever
            ),
            *(f"{step.table} {step.span} ran without {each}" for step in begun for each in self._lacks(step)),
            *(
                f"a submission does not request all inputs of {each}"
                for each in ([] if anew else tx.column(_HALF_WANTED))
            ),
        ]

    def left_out(self, tx: Tx) -> list[str]:
        """Return missing partitions of succeeded submissions, in a world at rest.

        Partitions for which a rerun was requested are excepted.
        """
        rows = _read(tx)
        anew = set(tx.column(_ASKED_ANEW))
        return [
            f"{id}: {each}"
            for id, app, start, end, by in tx.rows(_SUCCEEDED)
            for table in self._tables.filled_by(app, by and next(iter(by.values())))
            if not table.is_daily
            for day in _each(Span(DAYS.read(start), DAYS.read(end)))
            if (each := self._tables.partition(table.table, day))
            not in rows.there | self._ever_stale | self._again
            and rows.owners.get(each) not in anew
        ]

    def left_of_days(self, tx: Tx) -> list[str]:
        """Return the violations of days that jobs with keys make, in a world at rest."""
        if self._days.is_idle:
            return []
        rows = _read(tx)
        return [*self._days.left(rows.there, rows.stale), *self.readers.left(tx, rows)]

    def _look_at_days(self, tx: Tx, jobs: dict[int, Step], rows: Rows) -> list[str]:
        if self._days.is_idle:
            return []
        self.readers.note(rows)
        places = {id: (step.table, step.span) for id, step in jobs.items()}
        early = [*self._days.look(tx, places, self.readers.begin)]
        self._days.note(tx, rows.owners, rows.there, self._there)
        return [
            *early,
            *self._days.wrong(rows.there, rows.stale, self._ever_stale),
            *self.readers.look(tx, self._ever_stale),
        ]

    def _made_from(self, made: Partition) -> set[Partition]:
        """Return the partitions that this one is always made from: not those of tables of which another one serves."""
        return {
            each
            for reading, each in self._tables.inputs(made)
            if reading.is_exact and self._tables.get(each.table)
        }

    def _lacks(self, step: Step) -> Iterator[Partition]:
        """Yield the partitions that the job reads and that never existed.

        A partition that is made again may be read meanwhile by a step that was planned before.
        """
        filled = self._tables.get(step.table)
        for reading in filled.readings if filled else ():
            read = [self._tables.partition(reading.table, each) for each in reading.numbers(step.span)]
            if self._days.is_day(read[-1]):
                continue
            if not reading.cumulative:
                yield from (each for each in read if each not in self._ever)
            elif not any(each[:2] == read[-1][:2] and each >= read[-1] for each in self._ever):
                yield read[-1]

    def _of(self, step: Step) -> Iterator[Partition]:
        return (self._tables.partition(step.table, each) for each in _each(step.span))

    def _step(self, app: str, key: str, state: str) -> Step:
        """Return the job of this key, which begins with the value of the table's slice."""
        value, slash, text = without_version(key)[0].rpartition("/")
        table = self._tables.of(app, value if slash else None)
        assert table is not None, f"{app}/{key} names no slice of its table"
        return Step(table.table, read_span(DAYS, text), State(state))


def _read(tx: Tx) -> Rows:
    rows = {Partition(*row[:3]): row[3:] for row in tx.rows(_ROWS)}
    return Rows(
        owners={each: job for each, (job, _, _) in rows.items()},
        done={each: done_at for each, (_, done_at, _) in rows.items() if done_at},
        stale={each for each, (_, _, is_stale) in rows.items() if is_stale},
    )


def _drawn_reading(rng: random.Random, table: str) -> dict[str, Any]:
    reading: dict[str, Any] = {"table": table, "start_offset": rng.choice((0, 0, 1, _BACK_MAX))}
    if rng.random() < 0.2:
        reading["cumulative"] = True
    elif rng.random() < 0.1:
        reading["start_offset"] = None
    return reading


def _each(span: Span) -> range:
    return range(span.first, span.last + 1)


def _range(first: int, last: int) -> str:
    return span_text(DAYS, Span(first, last))
