"""The workers, and the amount of work for systems that scale workers."""

from collections.abc import Sequence

from msgspec import Struct

from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.tenancy import INSTALLATION
from sluice.ops.documents.backlog import WorkerDemand
from sluice.ops.documents.worker_document import WorkerDocument, as_document, workers_and_pools


def workers(
    console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]
) -> Sequence[WorkerDocument]:
    found, pools = console.ask(workers_and_pools)
    return [as_document(each, pools) for each in found]


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
        path="/api/workers",
        call=workers,
        summary="Workers, and the jobs that they hold",
        answers=Sequence[WorkerDocument],
        tenancy=INSTALLATION,
    ),
    Route(
        method="GET",
        path="/api/demand",
        call=demand,
        summary="The number of jobs that could run at once, now or soon",
        answers=WorkerDemand,
        tenancy=INSTALLATION,
        query=Apps,
    ),
)
