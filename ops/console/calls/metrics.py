"""All numbers, for Prometheus. It is no part of the API: whoever reads it knows where it is and how it is written."""

from ops.console.exchange import Answer
from ops.console.office import Office
from ops.console.route import Asked, Nothing, Route
from ops.metrics.exposition import CONTENT_TYPE


def metrics(office: Office, _: Asked[Nothing, Nothing]) -> Answer:
    return Answer(kind=CONTENT_TYPE, content=office.metrics.text().encode())


ROUTES = (
    Route(
        method="GET",
        path="/metrics",
        call=metrics,
        summary="All numbers, as Prometheus reads them",
        answers=str,
        kind=CONTENT_TYPE,
    ),
)
