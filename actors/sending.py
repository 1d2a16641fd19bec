"""A submission in the trace of whoever makes it.

OpenTelemetry is asked only where the program has it loaded already, so nothing is imported for this and nothing costs.
A program that has no provider set up hands on the span that it is in, if it is in one.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from sluice.broker.messages import PLANNER
from sluice.jobs.submission import Submission
from sluice.jobs.traceparent import Place, read_traceparent


@contextmanager
def sending(wanted: Sequence[Submission], *, within: str | None = None) -> Iterator[list[Submission]]:
    """The same with word of the span that sends them; what says itself where it belongs is left as it is.

    ``within`` is what the environment says of where this program belongs, for one that is in no span of its own.
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
    """The span that this thread is in, for what is submitted without one of its own; None where it is in none."""
    api: Any = sys.modules.get("opentelemetry.trace")
    return _place_of(api.get_current_span()) if api else None


def _place_of(span: Any) -> str | None:
    here = span.get_span_context()
    return str(Place(here.trace_id, here.span_id, bool(here.trace_flags.sampled))) if here.is_valid else None


def _within(submission: Submission, place: str | None) -> Submission:
    if place is None or submission.traceparent is not None:
        return submission
    return replace(submission, traceparent=place)


def _around(api: Any, within: str | None) -> Any:
    """None is the current one."""
    place = read_traceparent(within)
    if place is None or api.get_current_span().get_span_context().is_valid:
        return None
    flags = api.TraceFlags(api.TraceFlags.SAMPLED if place.sampled else api.TraceFlags.DEFAULT)
    context = api.SpanContext(place.trace, place.span, is_remote=True, trace_flags=flags)
    return api.set_span_in_context(api.NonRecordingSpan(context))
