"""Document of the overview page."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from sluice.broker.messages import CONTROL
from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.limits.app_pauses import pauses
from sluice.ledger.reads import fleet
from sluice.ledger.reads.fleet import differing
from sluice.ledger.reads.state_statistics import Minute, minutes, standing
from sluice.ops.observe.overview.alarms import Alarm, Drift, OwnDefinitions, alarms
from sluice.ops.observe.overview.queues import Queue, queues

#: Number of minutes in the charts, and the states that these show.
MINUTES = 60
STARTED = State.RUNNING
ENDED_WELL = State.SUCCEEDED
ENDED_BADLY = (State.FAILED, State.FATAL, State.TIMED_OUT, State.EXPIRED)
_DRAWN = (STARTED, ENDED_WELL, *ENDED_BADLY)


class Series(Struct, frozen=True, kw_only=True, rename={"since": "from"}):
    """Counts for each step of time. The last step is not over yet."""

    step_s: float
    since: datetime
    started: list[int]
    succeeded: list[int]
    failed: list[int]


class StateSeries(Struct, frozen=True, kw_only=True, rename={"since": "from"}):
    """Number of jobs that entered each state in each step of time, for each app with at least one."""

    step_s: float
    since: datetime
    by_app: dict[str, dict[str, list[int]]]


class Overview(Struct, frozen=True, kw_only=True):
    """Document of the page. ``totals`` and ``counts`` are current."""

    at: datetime
    totals: dict[str, int]
    counts: Mapping[str, Mapping[State, int]]
    series: Series
    states: StateSeries
    queues: list[Queue]
    workers: list[fleet.WorkerRow]
    alarms: list[Alarm]
    definitions: OwnDefinitions | None = None


def overview(
    tx: Tx,
    defined: Collection[str],
    definitions: OwnDefinitions | None = None,
    known: KnownDefinitions | None = None,
) -> Overview:
    """Return the overview of the ``defined`` apps and of others with jobs. ``known``: the console's own definitions."""
    counts = standing(tx)
    crew = fleet.workers(tx)
    apps = sorted({*defined, *counts})
    stopped = fleet.stopped(tx)
    standing_still = pauses(tx)
    workers = fleet.servers(tx, [*apps, *CONTROL])
    ready = [app for app, states in counts.items() if states.get(State.READY)]
    oldest = fleet.oldest_ready(tx, ready)
    lines = queues(
        apps,
        counts,
        oldest=oldest,
        workers=workers,
        paused={pause.app for pause in standing_still},
        at=stopped.at,
    )
    happened = minutes(tx, MINUTES, _DRAWN)
    since = stopped.at.replace(second=0, microsecond=0) - timedelta(minutes=MINUTES - 1)
    course = _course(happened, since)
    return Overview(
        at=stopped.at,
        totals=_totals(counts),
        counts=counts,
        series=_series(course, since),
        states=StateSeries(step_s=60.0, since=since, by_app=course),
        queues=lines,
        workers=crew,
        alarms=alarms(
            lines, workers, stopped, standing_still, Drift(crew, differing(tx, known), definitions)
        ),
        definitions=definitions,
    )


def narrowed(whole: Overview, has: Callable[[str], bool]) -> Overview:
    """Return the overview of some apps: without workers, and with only the alerts about these apps."""
    counts = {app: states for app, states in whole.counts.items() if has(app)}
    course = {app: states for app, states in whole.states.by_app.items() if has(app)}
    return replace(
        whole,
        totals=_totals(counts),
        counts=counts,
        series=_series(course, whole.series.since),
        states=replace(whole.states, by_app=course),
        queues=[queue for queue in whole.queues if has(queue.app)],
        workers=[],
        alarms=[alarm for alarm in whole.alarms if has(alarm.about.get("app", ""))],
        definitions=None,
    )


def _totals(counts: Mapping[str, Mapping[State, int]]) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for states in counts.values():
        totals.update({str(state): jobs for state, jobs in states.items()})
    return dict(sorted(totals.items()))


def _course(happened: list[Minute], since: datetime) -> dict[str, dict[str, list[int]]]:
    course: dict[str, dict[str, list[int]]] = {}
    for each in happened:
        nth = round((each.minute - since).total_seconds() / 60)
        if 0 <= nth < MINUTES:
            line = course.setdefault(each.app, {}).setdefault(each.state, [0] * MINUTES)
            line[nth] += each.entered
    return course


def _series(course: Mapping[str, Mapping[str, list[int]]], since: datetime) -> Series:
    def of(*states: State) -> list[int]:
        lines = [lines[state] for lines in course.values() for state in states if state in lines]
        return [sum(numbers) for numbers in zip(*lines, strict=True)] if lines else [0] * MINUTES

    return Series(
        step_s=60.0, since=since, started=of(STARTED), succeeded=of(ENDED_WELL), failed=of(*ENDED_BADLY)
    )
