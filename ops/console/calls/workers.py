"""Who works."""

from collections.abc import Mapping, Sequence
from typing import Any

from ops.console.documents import WorkerDocument
from ops.console.office import Office
from ops.console.route import Asked, Nothing, Route
from ops.worker_document import as_document, workers_and_pools


def workers(office: Office, _: Asked[Nothing, Nothing]) -> Sequence[Mapping[str, Any]]:
    found, pools = office.ask(workers_and_pools)
    return [as_document(each, pools) for each in found]


ROUTES = (
    Route(
        method="GET",
        path="/api/workers",
        call=workers,
        summary="Who is there, and what they hold",
        answers=Sequence[WorkerDocument],
    ),
)
