"""The workers."""

from collections.abc import Sequence

from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.documents.worker_document import WorkerDocument, as_document, workers_and_pools


def workers(
    console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]
) -> Sequence[WorkerDocument]:
    found, pools = console.ask(workers_and_pools)
    return [as_document(each, pools) for each in found]


ROUTES = (
    Route(
        method="GET",
        path="/api/workers",
        call=workers,
        summary="Workers, and the jobs that they hold",
        answers=Sequence[WorkerDocument],
    ),
)
