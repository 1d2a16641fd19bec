"""Alerts for the operator: sentences about facts, each with advice.

The runbook (docs/runbook.md) has a section for each alert, with the same name. In the HTTP interface the alerts are the
field ``alarms``, so the names of this module contain the same word.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from sluice.broker.messages import CONTROL, SCHEDULER
from sluice.ledger.limits.app_pauses import AppPause
from sluice.ledger.reads.fleet import StoppedSigns, Variant, WorkerRow
from sluice.ops.documents.rule_texts import SAME_DEFINITIONS, by_app, differ
from sluice.ops.observe.overview.queues import Queue
from sluice.ops.text import moment, span

#: Seconds for which a job may be ready before it raises an alert.
STALE_S = 600.0
#: Seconds for which a queue with ready jobs may have no worker.
UNSERVED_S = 15.0
#: Seconds without a sign of life from a leader. A leader gives one about every second.
LEADERLESS_S = 30.0


class Severity(StrEnum):
    PAGE = "page"
    WARN = "warn"


class Alarm(Struct, frozen=True, kw_only=True):
    name: str
    severity: Severity
    what: str
    about: Mapping[str, str] = {}
    advice: str


class OwnDefinitions(Struct, frozen=True, kw_only=True):
    """Definitions that the console itself uses since ``since``. ``problem`` is the reason why it has not loaded a
    change.
    """

    since: datetime
    problem: str | None


class Drift(Struct, frozen=True):
    """Definitions of the workers and of the console, as far as they differ."""

    workers: Sequence[WorkerRow]
    variants: Sequence[Variant]
    own: OwnDefinitions | None


def alarms(
    queues: Sequence[Queue],
    control: Mapping[str, int],
    stopped: StoppedSigns,
    pauses: Sequence[AppPause],
    drift: Drift,
) -> list[Alarm]:
    """Return the alerts, the worst first. ``control`` has the number of workers for each of Sluice's own queues."""
    found = [
        *_of_queues(queues),
        *_of_control(control, stopped),
        *_of_what_stopped(stopped),
        *_of_breakers(pauses),
        *_of_definitions(drift),
    ]
    return sorted(found, key=lambda alarm: (alarm.severity is not Severity.PAGE, alarm.name))


def _of_queues(queues: Sequence[Queue]) -> Iterator[Alarm]:
    for queue in queues:
        age_s = queue.oldest_ready_s
        if age_s is None or queue.paused:
            continue
        if queue.workers == 0 and age_s >= UNSERVED_S:
            yield Alarm(
                name="queue-without-worker",
                severity=Severity.PAGE,
                what=f"{queue.app} has no worker; {_jobs(queue.ready)} ready, the oldest for {span(age_s)}.",
                about={"app": queue.app},
                advice=f"Start one: sluice worker --queues {queue.app}",
            )
        elif age_s >= STALE_S:
            yield Alarm(
                name="oldest-ready-job",
                severity=Severity.WARN,
                what=f"A job of {queue.app} has been ready for {span(age_s)}; {_jobs(queue.ready)} ready.",
                about={"app": queue.app},
                advice=f"`sluice workers` shows whether its {queue.workers} workers are busy; if so, start more.",
            )


def _of_control(control: Mapping[str, int], stopped: StoppedSigns) -> Iterator[Alarm]:
    missing = [queue for queue in CONTROL if not control.get(queue)]
    if missing:
        yield Alarm(
            name="queue-without-worker",
            severity=Severity.PAGE,
            what=f"No worker serves {', '.join(missing)}, so nothing is planned or repaired.",
            about={"queues": ",".join(missing)},
            advice=f"Start a worker for them: sluice worker --queues {','.join(missing)}",
        )
    elif _age_s(stopped.led_at, stopped.at) > LEADERLESS_S:
        yield Alarm(
            name="no-leader",
            severity=Severity.PAGE,
            what="No process has been the leader for half a minute: no schedule fires, and no lost job recovers.",
            advice=f"Check the log of the worker that serves the queue {SCHEDULER}.",
        )


def _of_what_stopped(stopped: StoppedSigns) -> Iterator[Alarm]:
    if stopped.unplanned_since is not None:
        waited_s = _age_s(stopped.unplanned_since, stopped.at)
        yield Alarm(
            name="submission-not-planned",
            severity=Severity.WARN,
            what=f"A submission has not been planned for {span(waited_s)}.",
            advice="`sluice submissions` lists it, and the planner's log has the reason.",
        )
    if stopped.late_schedules:
        yield Alarm(
            name="schedule-late",
            severity=Severity.WARN,
            what=f"Schedules are late: {', '.join(stopped.late_schedules)}.",
            about={"schedule": stopped.late_schedules[0]},
            advice=f"Start a worker for the queue {SCHEDULER}, with the definitions that contain them.",
        )
    if stopped.lost_workers:
        yield Alarm(
            name="workers-lost",
            severity=Severity.WARN,
            what=f"{_lost(stopped.lost_workers)} lost within the last hour. Other workers took over the jobs.",
            advice="`sluice workers` lists them. Find out why they ended. The usual cause is a lack of memory.",
        )


def _of_breakers(pauses: Sequence[AppPause]) -> Iterator[Alarm]:
    for pause in pauses:
        if pause.is_of_breaker:
            yield Alarm(
                name="breaker-open",
                severity=Severity.WARN,
                what=f"The breaker of {pause.app} is open: {pause.why}.",
                about={"app": pause.app},
                advice="Fix the cause. Trial jobs start from time to time, and all jobs continue when one succeeds."
                f" To let them continue now: `sluice apps resume {pause.app}`",
            )


def _of_definitions(drift: Drift) -> Iterator[Alarm]:
    for app, variants in by_app(drift.variants).items():
        yield Alarm(
            name="definitions-differ",
            severity=Severity.WARN,
            what=differ(app, variants, here="this console"),
            about={"app": app},
            advice=SAME_DEFINITIONS,
        )
    if drift.own and drift.own.problem:
        yield Alarm(
            name="definitions-differ",
            severity=Severity.WARN,
            what=f"This console shows the definitions of {moment(drift.own.since)} UTC: {drift.own.problem}.",
            advice="Repair the source, or restart the console if the source is a Python module.",
        )
    for worker in drift.workers:
        if worker.alive and worker.definitions_problem:
            place = f"{worker.host}:{worker.pid}"
            yield Alarm(
                name="definitions-differ",
                severity=Severity.WARN,
                what=f"The worker {place} still uses its previous definitions: {worker.definitions_problem}.",
                about={"worker": place},
                advice="Repair the source, or restart the worker if the source is a Python module.",
            )


def _jobs(count: int) -> str:
    return "one job is" if count == 1 else f"{count:,} jobs are"


def _lost(workers: int) -> str:
    return "One worker was" if workers == 1 else f"{workers:,} workers were"


def _age_s(since: datetime | None, at: datetime) -> float:
    return (at - since).total_seconds() if since is not None else float("inf")
