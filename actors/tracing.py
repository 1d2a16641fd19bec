"""Traces, by OpenTelemetry: the only module that needs it. It is loaded where ``SLUICE_TRACE`` is on, and only then.

One trace joins whoever submits, the planner, each run, its verdict, and the runs that come after, whichever processes
these are in: names of spans follow from the ledger (``jobs.traceparent``).

    submit planner        whoever submits, where he has a span of his own
      plan planner        the submission, from when it was received until it was planned
        execute APP       one claim of a job; linked to the runs that it came after
          judge planner   from the record to the verdict

Where to the spans go, how many of them, and under which name of a service is OpenTelemetry's own to say: by the
variables that begin with ``OTEL_``. Spans are sent by a thread in the background; what does not fit its queue is lost.
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

from sluice.actors.meter import Count
from sluice.actors.onlooker import Past, Sight
from sluice.actors.remembered import Remembered
from sluice.broker.messages import PLANNER
from sluice.jobs.job import Assignment
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.ref import Claim
from sluice.jobs.states import State
from sluice.jobs.traceparent import Place, of_run, of_submission, of_verdict, read_traceparent
from sluice.ledger.happenings import What
from sluice.ledger.reads.origins import Origin, Planned

#: At the end of a process spans that are not sent yet have so long.
GOODBYE_S = 3.0
_UNKNOWN_SERVICE = "unknown_service"
_ENDED_WELL = {Ending.DONE, Ending.GOES_ON, Ending.SUSPENDED}

Attributes = dict[str, str | int]


class _Ids(RandomIdGenerator):
    """Gives the next span of this thread the name that it is to have, and any other one by chance."""

    def __init__(self) -> None:
        self.next: ContextVar[Place | None] = ContextVar("next", default=None)

    def generate_span_id(self) -> int:
        place = self.next.get()
        return place.span if place else super().generate_span_id()

    def generate_trace_id(self) -> int:
        place = self.next.get()
        return place.trace if place else super().generate_trace_id()


class Tracing:
    """An onlooker that tells what it sees as spans. ``system`` is what carries the messages: rabbitmq, redis, memory.
    ``headers`` are sent with the spans, and replace the headers of OpenTelemetry's own variables.

    It is the process's provider of tracers too, if nobody has set one: then what users' code and its libraries trace
    inside of a run goes the same way.
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

    def run(self, sight: Sight) -> "TracedRun":
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

    def recorded(self, sight: Sight, outcome: Outcome, *, refused: bool) -> None:
        """That is for the verdict to say."""

    def lost(self, past: Past) -> None:
        """In place of the worker that was lost, by the same name: who was only slow may tell it too."""
        stretch = past.stretch
        attributes = self._of(stretch.app, "execute", past.origin, app=stretch.app, key=stretch.key)
        attributes |= {"sluice.round": stretch.round, "sluice.claim": stretch.claim}
        attributes |= {"sluice.ending": stretch.ending, "error.type": stretch.ending}
        place = self._run(stretch.right, past.origin)
        self._tell_once(
            f"execute {stretch.app}", place, self._submission(past.origin), attributes, past, failed=True
        )

    def judged(self, past: Past) -> None:
        stretch = past.stretch
        attributes = self._of(PLANNER, "judge", past.origin, app=stretch.app, key=stretch.key)
        attributes |= {"sluice.round": stretch.round, "sluice.claim": stretch.claim}
        attributes["sluice.state"] = stretch.ending
        run = self._run(stretch.right, past.origin)
        place = Place(run.trace, of_verdict(run.trace, stretch.right), run.sampled)
        failed = stretch.ending != State.SUCCEEDED
        self._tell_once(f"judge {PLANNER}", place, run, attributes, past, failed=failed)

    def planned(self, submission: Planned) -> None:
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

    def counts(self) -> Mapping[What, Count]:
        """What is lost, OpenTelemetry says in the log."""
        return {}

    def close(self) -> None:
        """Whoever collects may be away; the process does not wait for him for long."""
        closing = Thread(target=self._provider.shutdown, name="sluice-trace", daemon=True)
        closing.start()
        closing.join(GOODBYE_S)

    def _tell_once(
        self,
        name: str,
        place: Place,
        parent: Place | None,
        attributes: Attributes,
        past: Past,
        *,
        failed: bool,
    ) -> None:
        if not self._told.is_news((place.trace, place.span)):
            return
        span = self._start(name, place, parent, attributes, began_at=past.stretch.began_at)
        if failed:
            span.set_status(Status(StatusCode.ERROR, past.stretch.ending))
        span.end(_ns(past.stretch.ended_at))

    def _of(self, queue: str, what: str, origin: Origin | None, **of_job: str) -> Attributes:
        """By the conventions for messaging, and ours under our own name."""
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

    def _submission(self, origin: Origin | None) -> Place | None:
        if origin is None:
            return None
        place = of_submission(origin.submission, origin.received_at, read_traceparent(origin.traceparent))
        return place if place.sampled is not None else place._replace(sampled=self._samples(place.trace))

    def _run(self, claim: Claim, origin: Origin | None) -> Place:
        """Without what it began for, a trace of its own."""
        parent = self._submission(origin)
        trace_id = parent.trace if parent else of_run(0, claim)
        return Place(trace_id, of_run(trace_id, claim), parent.sampled if parent else True)

    def _samples(self, trace_id: int) -> bool:
        """Whether a trace of this name is recorded: the same in every process that goes by the same rule."""
        found = self._provider.sampler.should_sample(Context(), trace_id, f"plan {PLANNER}")
        return found.decision is Decision.RECORD_AND_SAMPLE

    def _start(
        self,
        name: str,
        place: Place,
        parent: Place | None,
        attributes: Mapping[str, str | int],
        *,
        began_at: datetime | None = None,
        links: Sequence[Place] = (),
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
    """It is the current span of the run's thread, from here on until its end."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._current = ExitStack()
        self._current.enter_context(use_span(span, record_exception=False, set_status_on_exception=False))

    @property
    def traceparent(self) -> str | None:
        here = self._span.get_span_context()
        return str(Place(here.trace_id, here.span_id, bool(here.trace_flags.sampled)))

    def begin(self, assignment: Assignment) -> None:
        """It began when it was made."""

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


def _context(parent: Place | None) -> Context:
    """Never the thread's own: what is told here has its place whatever the thread is at."""
    if parent is None:
        return Context()
    return set_span_in_context(NonRecordingSpan(_span_context(parent)), Context())


def _span_context(place: Place) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if place.sampled else TraceFlags.DEFAULT)
    return SpanContext(place.trace, place.span, is_remote=True, trace_flags=flags)


def _ns(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
