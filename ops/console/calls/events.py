"""Changes, as they happen."""

from collections.abc import Generator, Iterable
from contextlib import closing
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from sluice.jobs.model.names import JobName
from sluice.ledger.reads import submission_lists
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import EVENTS_TYPE, Response
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.streams import WATCHES_MAX, WatchedObject, read_watch
from sluice.ops.console.tenancy import Tenancy
from sluice.ops.operations.job_names import recorded_job


class Watched(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Objects to watch. Each is ``overview``, ``schedules``, ``job:APP/KEY`` or ``submission:ID``."""

    watch: Annotated[tuple[str, ...], Meta(min_length=1, max_length=WATCHES_MAX)]


def events(console: ConsoleContext, asked: CallArguments[Watched, NoParameters]) -> Response:
    tenant = asked.reach.tenant
    watches = [*dict.fromkeys(_meant(console, read_watch(text), tenant) for text in asked.query.watch)]
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


def _meant(console: ConsoleContext, watch: WatchedObject, tenant: str | None) -> WatchedObject:
    """Return a watch with the canonical key of its job, as far as the definitions have the job. Of a list, return the
    part of the sender's tenant.
    """
    if isinstance(watch.of, JobName):
        return WatchedObject(watch.kind, recorded_job(console.context, watch.of.app, watch.of.key).name)
    return WatchedObject(watch.kind, watch.of or tenant or "")


def _apps(console: ConsoleContext, asked: CallArguments[Watched, NoParameters]) -> Iterable[str]:
    """Yield the apps of the watched jobs and submissions. An unknown submission has none, and is not the sender's."""
    watches = [*map(read_watch, asked.query.watch)]
    yield from (watch.of.app for watch in watches if isinstance(watch.of, JobName))
    for id_ in [str(watch.of) for watch in watches if watch.kind == "submission"]:
        found = console.ask(partial(submission_lists.one, id=id_))
        yield "" if found is None else found.app


ROUTES = (
    Route(
        method="GET",
        path="/api/events",
        call=events,
        summary="Server-sent events: the state of each watched object, and each change of it",
        answers=str,
        tenancy=Tenancy(also=_apps),
        query=Watched,
        kind=EVENTS_TYPE,
    ),
)
