"""Traces by OpenTelemetry. This is the only module that needs it, and it is loaded only if ``SLUICE_TRACE`` is on.

One trace connects the submitter, the planner, each run, its verdict, and the runs that come after, in any processes.
The IDs of spans are derived from the ledger (``jobs.observe.traceparent``).

    submit planner        the submitter, if it has a span of its own
      plan planner        the submission, from its receipt until it was planned
        execute APP       one claim of a job; linked to the runs that it came after
          judge planner   from the record to the verdict

OpenTelemetry's own variables, which begin with ``OTEL_``, determine the destination of the spans, their sampling, and
the service's name. A background thread sends the spans. Spans that do not fit its queue are lost.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from datetime import datetime
from threading import Thread

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
    use_span,
)

from sluice.actors.telemetry.counters import Count
from sluice.actors.telemetry.observers import FinishedRun, Remembered, RunInfo
from sluice.broker.messages import PLANNER
from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.observe.traceparent import TracePosition, of_run, of_submission, of_verdict, read_traceparent
from sluice.jobs.states import State
from sluice.ledger.reads.run_records import PlannedSubmission, RunOrigin
from sluice.ledger.stats.event_counters import CounterName

#: Seconds that the end of a process waits for unsent spans.
GOODBYE_S = 3.0
_UNKNOWN_SERVICE = "unknown_service"
_ENDED_WELL = {Ending.DONE, Ending.DETACHED, Ending.SUSPENDED}

Attributes = dict[str, str | int]


class _Ids(RandomIdGenerator):
    """Generator of IDs. The next span of this thread gets the ID that was set for it; any other span gets a random
    one."""

    def __init__(self) -> None:
        self.next: ContextVar[TracePosition | None] = ContextVar("next", default=None)

    def generate_span_id(self) -> int:
        place = self.next.get()
        return place.span if place else super().generate_span_id()

    def generate_trace_id(self) -> int:
        place = self.next.get()
        return place.trace if place else super().generate_trace_id()


class Tracing:
    """Observer that sends spans. ``system`` is the messaging system: rabbitmq, redis or memory. ``headers`` are sent
    with the spans, and replace the headers of OpenTelemetry's own variables.

    It is also the process's tracer provider, unless there is one already. So the spans of users' code and its libraries
    inside of a run are sent in the same way.
    """

    def __init__(self, system: str, headers: Mapping[str, str] = {}) -> None:
        self._system = system
        self._ids = _Ids()
        resource = Resource.create()
        if str(resource.attributes.get(SERVICE_NAME, _UNKNOWN_SERVICE)).startswith(_UNKNOWN_SERVICE):
            resource = resource.merge(Resource({SERVICE_NAME: "sluice"}))
        self._provider = TracerProvider(resource=resource, id_generator=self._ids)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(headers=dict(headers) or None)))
        self._tracer = self._provider.get_tracer("sluice")
        self._told = Remembered()
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(self._provider)

    def run(self, sight: RunInfo) -> "TracedRun":
        job = sight.job
        parent = self._submission(sight.origin)
        attributes = self._of(job.app, "execute", sight.origin, app=job.app, key=job.key)
        attributes |= {"sluice.round": job.round, "sluice.claim": job.claim}
        if sight.parcel > 1:
            attributes["messaging.batch.message_count"] = sight.parcel
        span = self._start(
            f"execute {job.app}",
            self._run(job.right, sight.origin),
            parent,
            attributes,
            links=[self._run(claim, origin) for claim, origin in sight.after],
        )
        return TracedRun(span)

    def recorded(self, sight: RunInfo, outcome: Outcome, *, refused: bool) -> None:
        """Do nothing: the verdict is reported instead."""

    def lost(self, past: FinishedRun) -> None:
        """Send the span of the lost worker's run, under the same ID. If that worker was only slow, it may send the span
        too."""
        stretch = past.stretch
        attributes = self._of(stretch.app, "execute", past.origin, app=stretch.app, key=stretch.key)
        attributes |= {"sluice.round": stretch.round, "sluice.claim": stretch.claim}
        attributes |= {"sluice.ending": stretch.ending, "error.type": stretch.ending}
        place = self._run(stretch.right, past.origin)
        self._tell_once(
            f"execute {stretch.app}", place, self._submission(past.origin), attributes, past, failed=True
        )

    def judged(self, past: FinishedRun) -> None:
        stretch = past.stretch
        attributes = self._of(PLANNER, "judge", past.origin, app=stretch.app, key=stretch.key)
        attributes |= {"sluice.round": stretch.round, "sluice.claim": stretch.claim}
        attributes["sluice.state"] = stretch.ending
        run = self._run(stretch.right, past.origin)
        place = TracePosition(run.trace, of_verdict(run.trace, stretch.right), run.sampled)
        failed = stretch.ending != State.SUCCEEDED
        self._tell_once(f"judge {PLANNER}", place, run, attributes, past, failed=failed)

    def planned(self, submission: PlannedSubmission) -> None:
        place = self._submission(submission)
        if place is None or not self._told.is_news((place.trace, place.span)):
            return
        attributes = self._of(PLANNER, "plan", submission, app=submission.app)
        span = self._start(
            f"plan {PLANNER}",
            place,
            read_traceparent(submission.traceparent),
            attributes,
            began_at=submission.received_at,
        )
        if submission.reason:
            span.set_status(Status(StatusCode.ERROR, submission.reason))
        span.end(_ns(submission.planned_at))

    def counts(self) -> Mapping[CounterName, Count]:
        """Return no counters: OpenTelemetry logs the spans that it loses."""
        return {}

    def close(self) -> None:
        """Send the remaining spans. The collector may be unreachable, so the process waits only for a bounded time."""
        closing = Thread(target=self._provider.shutdown, name="sluice-trace", daemon=True)
        closing.start()
        closing.join(GOODBYE_S)

    def _tell_once(
        self,
        name: str,
        place: TracePosition,
        parent: TracePosition | None,
        attributes: Attributes,
        past: FinishedRun,
        *,
        failed: bool,
    ) -> None:
        if not self._told.is_news((place.trace, place.span)):
            return
        span = self._start(name, place, parent, attributes, began_at=past.stretch.began_at)
        if failed:
            span.set_status(Status(StatusCode.ERROR, past.stretch.ending))
        span.end(_ns(past.stretch.ended_at))

    def _of(self, queue: str, what: str, origin: RunOrigin | None, **of_job: str) -> Attributes:
        """Return the attributes that the conventions for messaging define, and Sluice's own under its own prefix."""
        attributes: Attributes = {
            "messaging.system": self._system,
            "messaging.operation.name": what,
            "messaging.operation.type": "process",
            "messaging.destination.name": queue,
            **{f"sluice.{name}": text for name, text in of_job.items()},
        }
        if origin:
            attributes["messaging.message.conversation_id"] = origin.submission
        return attributes

    def _submission(self, origin: RunOrigin | None) -> TracePosition | None:
        if origin is None:
            return None
        place = of_submission(origin.submission, origin.received_at, read_traceparent(origin.traceparent))
        return place if place.sampled is not None else place._replace(sampled=self._samples(place.trace))

    def _run(self, claim: Claim, origin: RunOrigin | None) -> TracePosition:
        """Return the span of a run. Without an origin, the run has a trace of its own."""
        parent = self._submission(origin)
        trace_id = parent.trace if parent else of_run(0, claim)
        return TracePosition(trace_id, of_run(trace_id, claim), parent.sampled if parent else True)

    def _samples(self, trace_id: int) -> bool:
        """Return whether a trace is recorded. The result is the same in every process with the same sampling rule."""
        found = self._provider.sampler.should_sample(Context(), trace_id, f"plan {PLANNER}")
        return found.decision is Decision.RECORD_AND_SAMPLE

    def _start(
        self,
        name: str,
        place: TracePosition,
        parent: TracePosition | None,
        attributes: Mapping[str, str | int],
        *,
        began_at: datetime | None = None,
        links: Sequence[TracePosition] = (),
    ) -> Span:
        token = self._ids.next.set(place)
        try:
            return self._tracer.start_span(
                name,
                context=_context(parent),
                kind=SpanKind.CONSUMER,
                attributes=attributes,
                links=[Link(_span_context(each)) for each in links],
                start_time=None if began_at is None else _ns(began_at),
            )
        finally:
            self._ids.next.reset(token)


class TracedRun:
    """Span of a run. It is the current span of the run's thread until the run ends."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._current = ExitStack()
        self._current.enter_context(use_span(span, record_exception=False, set_status_on_exception=False))

    @property
    def traceparent(self) -> str | None:
        here = self._span.get_span_context()
        return str(TracePosition(here.trace_id, here.span_id, bool(here.trace_flags.sampled)))

    def begin(self, assignment: Assignment) -> None:
        """Do nothing: the span began when it was created."""

    def end(self, outcome: Outcome | None) -> None:
        self._current.close()
        if outcome:
            self._span.set_attribute("sluice.ending", outcome.ending.value)
            if outcome.exit_code is not None:
                self._span.set_attribute("sluice.exit_code", outcome.exit_code)
            if outcome.ending not in _ENDED_WELL:
                self._span.set_attribute("error.type", outcome.ending.value)
                self._span.set_status(Status(StatusCode.ERROR, (outcome.error or "").partition("\n")[0]))
        self._span.end()


def _context(parent: TracePosition | None) -> Context:
    """Return the context for a span. It is never the thread's own, because these spans do not belong to the thread's
    current work."""
    if parent is None:
        return Context()
    return set_span_in_context(NonRecordingSpan(_span_context(parent)), Context())


def _span_context(place: TracePosition) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if place.sampled else TraceFlags.DEFAULT)
    return SpanContext(place.trace, place.span, is_remote=True, trace_flags=flags)


def _ns(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
