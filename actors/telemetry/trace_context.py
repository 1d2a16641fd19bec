"""Trace context of submissions.

OpenTelemetry is used only if the program has already loaded it. So nothing is imported for this, and it costs nothing.
A program without a tracer provider passes on its current span, if it has one.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from sluice.broker.messages import PLANNER
from sluice.jobs.model.submission import Submission
from sluice.jobs.observe.traceparent import TracePosition, read_traceparent


@contextmanager
def sending(wanted: Sequence[Submission], *, within: str | None = None) -> Iterator[list[Submission]]:
    """Yield the submissions with the context of the span that sends them. A submission that names a context keeps it.

    ``within`` is the trace context in the program's environment. It is used if the program has no current span.
    """
    api: Any = sys.modules.get("opentelemetry.trace")
    if api is None:
        yield [_within(each, within) for each in wanted]
        return
    attributes: dict[str, str | int] = {
        "messaging.operation.name": "submit",
        "messaging.operation.type": "send",
        "messaging.destination.name": PLANNER,
    }
    if len(wanted) > 1:
        attributes["messaging.batch.message_count"] = len(wanted)
    elif wanted:
        attributes["messaging.message.conversation_id"] = wanted[0].id or ""
    with api.get_tracer("sluice").start_as_current_span(
        f"submit {PLANNER}",
        context=_around(api, within),
        kind=api.SpanKind.PRODUCER,
        attributes=attributes,
    ) as span:
        written = _place_of(span) or within
        yield [_within(each, written) for each in wanted]


def current_place() -> str | None:
    """Return the context of this thread's span, or None. It is for submissions that are made without a span of their
    own."""
    api: Any = sys.modules.get("opentelemetry.trace")
    return _place_of(api.get_current_span()) if api else None


def _place_of(span: Any) -> str | None:
    here = span.get_span_context()
    return (
        str(TracePosition(here.trace_id, here.span_id, bool(here.trace_flags.sampled)))
        if here.is_valid
        else None
    )


def _within(submission: Submission, place: str | None) -> Submission:
    if place is None or submission.traceparent is not None:
        return submission
    return replace(submission, traceparent=place)


def _around(api: Any, within: str | None) -> Any:
    """Return the context in which to start the span; None is the current one."""
    place = read_traceparent(within)
    if place is None or api.get_current_span().get_span_context().is_valid:
        return None
    flags = api.TraceFlags(api.TraceFlags.SAMPLED if place.sampled else api.TraceFlags.DEFAULT)
    context = api.SpanContext(place.trace, place.span, is_remote=True, trace_flags=flags)
    return api.set_span_in_context(api.NonRecordingSpan(context))
