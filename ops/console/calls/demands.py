"""The amount of work, for systems that scale workers."""

from msgspec import Struct

from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.documents.backlog import WorkerDemand


class Apps(Struct, frozen=True, forbid_unknown_fields=True):
    """Apps to report, defined or not. Default: all apps."""

    app: tuple[str, ...] = ()


def demand(console: ConsoleContext, asked: CallArguments[Apps, NoParameters]) -> WorkerDemand:
    """Return the demand. If apps are named, definitions are not read: they may be faulty while jobs of the apps run."""
    apps = asked.query.app
    known = console.catalogue.queues if console.has_definitions and not apps else ()
    return console.demand.wanted(apps, known=known)


ROUTES = (
    Route(
        method="GET",
        path="/api/demand",
        call=demand,
        summary="The number of jobs that could run at once, now or soon",
        answers=WorkerDemand,
        query=Apps,
    ),
)
