"""Conversion of a claimed job into the assignment that a runner needs."""

from typing import Any

from sluice.jobs.app import App
from sluice.jobs.calendar import Span
from sluice.jobs.catalogue import parse_policy
from sluice.jobs.job import Assignment, idempotency_token
from sluice.jobs.partitioning import Partitioning, inputs_of
from sluice.jobs.work_ids import ids_of
from sluice.ledger.lifecycle.claims import Claimed
from sluice.planner.partition_keys import read_key


def assign(app: App, job: Claimed) -> Assignment:
    """Return the assignment of a claimed job. BadRequest if its key no longer fits the app."""
    partitioning = app.partitioning
    return Assignment(
        name=job.name,
        ids={} if app.chunking or partitioning else app.read_key(job.key),
        **(_versions(app, partitioning) if partitioning else {}),
        **(_step(app, partitioning, job) if partitioning and not app.unbounded else {}),
        work_ids=None if job.work_ids is None else tuple(ids_of(job.work_ids)),
        kwargs=job.kwargs or {},
        round=job.round,
        claim=job.claim,
        token=idempotency_token(job.app, "", job.key),
        app=app,
        policy=app.policy.overridden(parse_policy(job.overrides or {})),
    )


def _versions(app: App, partitioning: Partitioning) -> dict[str, Any]:
    """Return the version of the app and of its input tables. Long-running services have them too: they read tables,
    although not by partition."""
    read = {each.table: each.version for each in partitioning.dependencies if each.version}
    return {"version": app.version, "input_versions": read}


def _step(app: App, partitioning: Partitioning, job: Claimed) -> dict[str, Any]:
    """Return the partitions to make and their inputs. BadRequest if the definitions have another version of the app."""
    write = partitioning.calendar.write
    span = read_key(app, job.key)
    left = job.partitions or []
    return {
        "span": (write(span.first), write(span.last)),
        "partitions": tuple(map(write, left)),
        "table": partitioning.table,
        "inputs": inputs_of(partitioning, Span(left[0], left[-1])) if left else {},
    }
