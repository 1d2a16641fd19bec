"""All calls, and the call that describes them for programs."""

from sluice.ops.console.calls import (
    apps,
    audits,
    events,
    job_acts,
    jobs,
    notifications,
    overviews,
    partitions,
    probes,
    sagas,
    schedules,
    selected_jobs,
    sessions,
    submissions,
    workers,
)
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import Response
from sluice.ops.console.openapi import Description, described
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.tenancy import OPEN


def _with_description(others: tuple[Route, ...]) -> tuple[Route, ...]:
    """Return all routes, including the call that describes them."""

    def description(_: ConsoleContext, __: CallArguments[NoParameters, NoParameters]) -> Response:
        return Response(document=document)

    own = Route(
        method="GET",
        path="/api/openapi.json",
        call=description,
        summary="The description of all calls (OpenAPI 3.1)",
        answers=Description,
        tenancy=OPEN,
    )
    routes = (*others, own)
    document = described(routes)
    return routes


ROUTES = _with_description(
    (
        *sessions.ROUTES,
        *overviews.ROUTES,
        *probes.ROUTES,
        *apps.ROUTES,
        *jobs.ROUTES,
        *job_acts.ROUTES,
        *selected_jobs.ROUTES,
        *submissions.ROUTES,
        *partitions.ROUTES,
        *schedules.ROUTES,
        *sagas.ROUTES,
        *notifications.ROUTES,
        *workers.ROUTES,
        *audits.ROUTES,
        *events.ROUTES,
    )
)
