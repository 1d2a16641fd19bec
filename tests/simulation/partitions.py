"""Random apps that are keyed by partition, submissions for them, and checks of their partitions after each step."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from sluice.broker.messages import Landed
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Span
from sluice.jobs.keys.partitions import Partitioning, read_span, span_text, without_version
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx
from tests.simulation.days import DAYS as _DAYS
from tests.simulation.days import MAKER, DayWatch, Partition, drawn_day_words

_FIRST = _DAYS.read("2024-04-01")
#: Days that are requested. The steps may read days before these.
_WINDOW = range(_FIRST, _FIRST + 9)
_BACK_MAX = 2
OUTSIDE = "outside"

_ROWS = """
SELECT table_name, version, partition, job, done_at IS NOT NULL, stale_since IS NOT NULL FROM partition
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
SELECT id, app, request ->> 'start', request ->> 'end' FROM submission
WHERE state = '{SubmissionState.SUCCEEDED}' AND request ? 'start'
"""


class Step(NamedTuple):
    app: str
    span: Span
    state: State


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


def drawn_partition_words(rng: random.Random, app: str) -> dict[str, Any]:
    """Draw a submission of a range, sometimes with a rerun."""
    first, last = sorted(rng.choice(_WINDOW) for _ in range(2))
    words: dict[str, Any] = {"app": app, "start": _DAYS.write(first), "end": _DAYS.write(last)}
    if rng.random() < 0.2:
        words["rerun"] = rng.choice(("job", "downstream"))
    return words


def drawn_dated_words(rng: random.Random, app: str, words: dict[str, Any]) -> dict[str, Any]:
    """Draw a submission of jobs that have a day in their key."""
    return drawn_day_words(rng, app, words, _WINDOW)


def drawn_landing(rng: random.Random, apps: dict[str, Any]) -> Landed:
    """Draw a landing of partitions from outside, or of partitions that an app would make. Days of jobs with keys do not
    land."""
    tables = [name for name, words in apps.items() if is_by_partition(words)]
    if MAKER not in apps and any(
        each["table"] == OUTSIDE for name in tables for each in apps[name]["table_dependencies"]
    ):
        tables += [OUTSIDE, OUTSIDE]
    first = rng.choice(_WINDOW)
    return Landed(
        table=rng.choice(tables),
        partitions=(_range(first, first + rng.randint(0, 3)),),
        again=rng.random() < 0.3,
    )


def all_landed(catalogue: Catalogue) -> list[Landed]:
    """Return landings of all partitions from outside that any job may wait for."""
    return [
        Landed(table=table, partitions=(_range(_WINDOW[0] - 4 * _BACK_MAX, _WINDOW[-1]),))
        for table in catalogue.externals
        if catalogue.makes_days_of(table) is None
    ]


class Watch:
    """Checks of every partition after each step. It remembers all partitions that ever existed."""

    def __init__(self, catalogue: Catalogue, apps: dict[str, Any]) -> None:
        self._apps = {app.name: app for app in map(catalogue.app, catalogue) if app.partitioning}
        self._by_table = {_partitioning(app).table: app for app in self._apps.values()}
        self._there: set[Partition] = set()
        self._ever: set[Partition] = set()
        self._landed: set[Partition] = set()
        self._ever_stale: set[Partition] = set()
        made_by = {table: (_partitioning(app), app.version) for table, app in self._by_table.items()}
        self._days = DayWatch(apps[MAKER], made_by, self._landed) if MAKER in apps else None

    @property
    def has_days(self) -> bool:
        """Return whether jobs with keys make the days of a table."""
        return self._days is not None

    @property
    def is_idle(self) -> bool:
        return not self._apps

    def hear(self, landing: Landed) -> None:
        """Note a landing. Its partitions may exist although no job has made them."""
        app = self._by_table.get(landing.table)
        version = app.version if app else _DAYS.unit
        spans = [read_span(_DAYS, text) for text in landing.partitions]
        self._landed |= {Partition(landing.table, version, each) for span in spans for each in _each(span)}

    def look(self, tx: Tx, since: int) -> list[str]:
        """Return the violations. ``since`` is the last transition before this step."""
        owners, there, stale = _read(tx)
        self._ever_stale |= stale
        steps = {id: _step(*row) for id, *row in tx.rows(_STEPS)}
        ran, anew = set(tx.column(_RAN)), set(tx.column(_ASKED_ANEW))
        begun = [steps[job] for job in tx.column(_BEGUN, since=since) if job in steps]
        gone = self._there - there
        wrong = self._look_at_days(tx, steps, owners, there, stale)
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
                for each in there - self._landed
                if owners[each] not in ran and not self._is_day(each)
            ),
            *(
                f"{step.app} {step.span} is unfinished, and does not own {each}"
                for id, step in steps.items()
                if step.state in LIVE
                for each in self._of(step)
                if owners.get(each) != id and each not in self._ever
            ),
            *(f"{step.app} {step.span} ran without {each}" for step in begun for each in self._lacks(step)),
            *(
                f"a submission does not request all inputs of {each}"
                for each in ([] if anew else tx.column(_HALF_WANTED))
            ),
        ]

    def left_out(self, tx: Tx) -> list[str]:
        """Return missing partitions of succeeded submissions, in a world at rest.

        Partitions for which a rerun was requested are excepted.
        """
        owners, there, _ = _read(tx)
        anew = set(tx.column(_ASKED_ANEW))
        return [
            f"{id}: {each}"
            for id, app, start, end in tx.rows(_SUCCEEDED)
            if app in self._apps
            for each in self._partitions(self._apps[app], Span(_DAYS.read(start), _DAYS.read(end)))
            if each not in there | self._ever_stale and owners.get(each) not in anew
        ]

    def left_of_days(self, tx: Tx) -> list[str]:
        """Return the violations of days that jobs with keys make, in a world at rest."""
        _, there, stale = _read(tx)
        return [*self._days.left(there, stale)] if self._days else []

    def _look_at_days(
        self,
        tx: Tx,
        steps: dict[int, Step],
        owners: dict[Partition, int | None],
        there: set[Partition],
        stale: set[Partition],
    ) -> list[str]:
        if self._days is None:
            return []
        tables = {id: (_partitioning(self._apps[step.app]).table, step.span) for id, step in steps.items()}
        early = [*self._days.look(tx, tables)]
        self._days.note(tx, owners, there, self._there)
        return [*early, *self._days.wrong(there, stale, self._ever_stale)]

    def _is_day(self, partition: Partition) -> bool:
        return self._days is not None and partition.table == self._days.table

    def _made_from(self, made: Partition) -> set[Partition]:
        """Return the partitions that this one is always made from: not those of tables of which another one serves."""
        app = self._by_table.get(made.table)
        if app is None or app.version != made.version:
            return set()
        found = set()
        for dependency in _partitioning(app).dependencies:
            producer = self._by_table.get(dependency.table)
            reach = dependency.needed_for(Span(made.number, made.number), _DAYS)
            if producer and reach and reach.first is not None and not dependency.cumulative:
                numbers = range(reach.first, reach.last + 1)
                found |= {Partition(dependency.table, producer.version, each) for each in numbers}
        return found

    def _lacks(self, step: Step) -> Iterator[Partition]:
        """Yield the partitions that the step reads and that never existed.

        A partition that is made again may be read meanwhile by a step that was planned before.
        """
        for dependency in _partitioning(self._apps[step.app]).dependencies:
            producer = self._by_table.get(dependency.table)
            reach = dependency.needed_for(step.span, _DAYS)
            if reach is None or (self._days and self._days.table == dependency.table):
                continue
            version = producer.version if producer else _DAYS.unit
            first = step.span.first if reach.first is None else reach.first
            read = [Partition(dependency.table, version, each) for each in range(first, reach.last + 1)]
            if not dependency.cumulative:
                yield from (each for each in read if each not in self._ever)
            elif not any(each[:2] == read[-1][:2] and each >= read[-1] for each in self._ever):
                yield read[-1]

    def _of(self, step: Step) -> Iterator[Partition]:
        return self._partitions(self._apps[step.app], step.span)

    def _partitions(self, app: App, span: Span) -> Iterator[Partition]:
        return (Partition(_partitioning(app).table, app.version, each) for each in _each(span))


def _read(tx: Tx) -> tuple[dict[Partition, int | None], set[Partition], set[Partition]]:
    """Return the owner of each partition, the existing partitions, and those that are or will be stale."""
    rows = {Partition(*row[:3]): row[3:] for row in tx.rows(_ROWS)}
    there = {each for each, (_, is_there, _) in rows.items() if is_there}
    stale = {each for each, (_, _, is_stale) in rows.items() if is_stale}
    return {each: job for each, (job, _, _) in rows.items()}, there, stale


def _step(app: str, key: str, state: str) -> Step:
    return Step(app, read_span(_DAYS, without_version(key)[0]), State(state))


def _drawn_reading(rng: random.Random, table: str) -> dict[str, Any]:
    reading: dict[str, Any] = {"table": table, "start_offset": rng.choice((0, 0, 1, _BACK_MAX))}
    if rng.random() < 0.2:
        reading["cumulative"] = True
    elif rng.random() < 0.1:
        reading["start_offset"] = None
    return reading


def _partitioning(app: App) -> Partitioning:
    assert app.partitioning is not None
    return app.partitioning


def _each(span: Span) -> range:
    return range(span.first, span.last + 1)


def _range(first: int, last: int) -> str:
    return span_text(_DAYS, Span(first, last))
