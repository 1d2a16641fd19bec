"""Changes, as they happen."""

from collections.abc import Generator
from contextlib import closing
from typing import Annotated

from msgspec import Meta, Struct

from sluice.jobs.model.names import JobName
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import EVENTS_TYPE, Response
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.streams import WATCHES_MAX, WatchedObject, read_watch
from sluice.ops.operations.job_names import recorded_job


class Watched(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Objects to watch. Each is ``overview``, ``schedules``, ``job:APP/KEY`` or ``submission:ID``."""

    watch: Annotated[tuple[str, ...], Meta(min_length=1, max_length=WATCHES_MAX)]


def events(console: ConsoleContext, asked: CallArguments[Watched, NoParameters]) -> Response:
    watches = [*dict.fromkeys(_meant(console, read_watch(text)) for text in asked.query.watch)]
    return Response(kind=EVENTS_TYPE, pieces=_admitted(console.streams.tell(watches), asked), is_live=True)


def _admitted(
    pieces: Generator[bytes, None, None], asked: CallArguments[Watched, NoParameters]
) -> Generator[bytes, None, None]:
    """Yield the pieces until the sender loses its access: its session ends, or its token is removed or changed. There
    is a piece in each second.
    """
    with closing(pieces):
        for piece in pieces:
            if asked.gate.who(asked.request) != asked.who:
                return
            yield piece


def _meant(console: ConsoleContext, watch: WatchedObject) -> WatchedObject:
    """Return a watch with the canonical key of its job, as far as the definitions have the job."""
    if isinstance(watch.of, JobName):
        return WatchedObject(watch.kind, recorded_job(console.context, watch.of.app, watch.of.key).name)
    return watch


ROUTES = (
    Route(
        method="GET",
        path="/api/events",
        call=events,
        summary="Server-sent events: the state of each watched object, and each change of it",
        answers=str,
        query=Watched,
        kind=EVENTS_TYPE,
    ),
)
