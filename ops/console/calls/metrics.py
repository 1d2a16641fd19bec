"""All metrics, for Prometheus. They are no part of the API: Prometheus expects this path and this format."""

from sluice.ops.console.exchange import Answer
from sluice.ops.console.office import Office
from sluice.ops.console.route import Asked, Nothing, Route
from sluice.ops.metrics.exposition import CONTENT_TYPE


def metrics(office: Office, _: Asked[Nothing, Nothing]) -> Answer:
    return Answer(kind=CONTENT_TYPE, content=office.metrics.text().encode())


ROUTES = (
    Route(
        method="GET",
        path="/metrics",
        call=metrics,
        summary="All metrics, in the format of Prometheus",
        answers=str,
        kind=CONTENT_TYPE,
    ),
)
