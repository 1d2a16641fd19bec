"""All metrics, for Prometheus. They are no part of the API: Prometheus expects this path and this format."""

from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import Response
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.observe.metrics.exposition import CONTENT_TYPE


def metrics(console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]) -> Response:
    return Response(kind=CONTENT_TYPE, content=console.metrics.text().encode())


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
