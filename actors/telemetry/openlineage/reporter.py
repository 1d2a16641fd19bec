"""Lineage of jobs that make partitions of tables: decides which event is sent when."""

from collections.abc import Callable, Mapping

import msgspec

from sluice.actors.settings.settings import LineageServer
from sluice.actors.telemetry.counters import Count
from sluice.actors.telemetry.observers import FinishedRun, Remembered, RunInfo
from sluice.actors.telemetry.openlineage.events import Dataset, LineageEvent, LineageNames, now
from sluice.actors.telemetry.openlineage.sender import EventSender
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.reads.run_records import PlannedSubmission, RunOrigin
from sluice.ledger.stats.event_counters import CounterName

_START, _COMPLETE, _FAIL, _ABORT = "START", "COMPLETE", "FAIL", "ABORT"
#: Endings that are not judged. The process that recorded them sends the event. A run that has not begun has no event.
_UNJUDGED = {Ending.TIMED_OUT: _FAIL, Ending.HANDED_BACK: _ABORT}
_VERDICTS = {State.SUCCEEDED: _COMPLETE, State.EXPIRED: _ABORT, State.CANCELLED: _ABORT}

_ENCODER = msgspec.json.Encoder()


def lineage_of(server: LineageServer, definition: Callable[[str], App | None]) -> "Lineage":
    """Return the observer that sends lineage to this server."""
    return Lineage(
        LineageNames(server.jobs, server.tables), EventSender(server.url, server.token), definition
    )


class Lineage:
    """Observer that sends lineage. ``definition`` returns the present definition of an app, or None."""

    def __init__(
        self, names: LineageNames, post: EventSender, definition: Callable[[str], App | None]
    ) -> None:
        self._names = names
        self._post = post
        self._definition = definition
        self._told = Remembered()

    def run(self, sight: RunInfo) -> "StepRun":
        return StepRun(self, sight)

    def began(self, sight: RunInfo, assignment: Assignment) -> None:
        table = assignment.app.table_of_days or (assignment.table if assignment.span else None)
        if table is None:
            return
        outputs = self._names.outputs(assignment.app, table, sight.job.key)
        self._tell(_START, sight, inputs=list(self._names.inputs(assignment)), outputs=outputs)

    def recorded(self, sight: RunInfo, outcome: Outcome, *, refused: bool) -> None:
        ending = _ABORT if refused else _UNJUDGED.get(outcome.ending)
        if ending is None or outcome.ending is Ending.NOT_STARTED:
            return
        if sight.job.partitions is None and not self._table_of_days(sight.job.app):
            return
        self._tell(ending, sight, error=None if ending == _ABORT else outcome.error)

    def lost(self, past: FinishedRun) -> None:
        self._look_back(past, _ABORT)

    def judged(self, past: FinishedRun) -> None:
        self._look_back(past, _VERDICTS.get(State(past.stretch.ending), _FAIL))

    def planned(self, submission: PlannedSubmission) -> None:
        """Do nothing: planning makes no partitions yet."""

    def counts(self) -> Mapping[CounterName, Count]:
        return {CounterName.LINEAGE_DROPPED: lambda: self._post.dropped}

    def close(self) -> None:
        self._post.close()

    def _look_back(self, past: FinishedRun, ending: str) -> None:
        stretch = past.stretch
        table = stretch.output_table or self._table_of_days(stretch.app)
        if table is None or not self._told.is_news(stretch.right):
            return
        done = self._names.outputs(self._definition(stretch.app), table, stretch.key)
        event = LineageEvent(
            event_type=ending,
            event_time=stretch.ended_at,
            run=self._names.run(stretch.right, past.origin, stretch.error if ending == _FAIL else None),
            job=self._names.job(stretch.app),
            inputs=[],
            outputs=done if ending == _COMPLETE else [],
        )
        self._post.send(_ENCODER.encode(event))

    def _table_of_days(self, app: str) -> str | None:
        found = self._definition(app)
        return found.table_of_days if found else None

    def _tell(
        self,
        what: str,
        sight: RunInfo,
        *,
        inputs: list[Dataset] | None = None,
        outputs: list[Dataset] | None = None,
        error: str | None = None,
    ) -> None:
        origin: RunOrigin | None = sight.origin
        event = LineageEvent(
            event_type=what,
            event_time=now(),
            run=self._names.run(sight.job.right, origin, error),
            job=self._names.job(sight.job.app),
            inputs=inputs or [],
            outputs=outputs or [],
        )
        self._post.send(_ENCODER.encode(event))


class StepRun:
    """One run of a job that may make partitions."""

    traceparent = None

    def __init__(self, lineage: Lineage, sight: RunInfo) -> None:
        self._lineage = lineage
        self._sight = sight

    def begin(self, assignment: Assignment) -> None:
        self._lineage.began(self._sight, assignment)

    def end(self, outcome: Outcome | None) -> None:
        """Do nothing: the event is sent once the outcome is in the ledger."""
