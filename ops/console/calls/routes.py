"""All calls."""

from sluice.ops.console.calls import (
    apps,
    audits,
    demands,
    description,
    events,
    job_acts,
    jobs,
    metrics,
    overviews,
    partitions,
    sagas,
    schedules,
    sessions,
    submissions,
    workers,
)
from sluice.ops.console.route import Route

_ROUTES: tuple[Route, ...] = (
    *sessions.ROUTES,
    *overviews.ROUTES,
    *apps.ROUTES,
    *jobs.ROUTES,
    *job_acts.ROUTES,
    *submissions.ROUTES,
    *partitions.ROUTES,
    *schedules.ROUTES,
    *sagas.ROUTES,
    *workers.ROUTES,
    *audits.ROUTES,
    *demands.ROUTES,
    *events.ROUTES,
    *metrics.ROUTES,
)
ROUTES = description.table(_ROUTES)
