"""Canonical names of jobs."""

from typing import NamedTuple

from sluice.jobs.errors import BadKey, BadRequest, UnknownApp
from sluice.jobs.model.names import JobName
from sluice.ops.operations.context import OperatorContext
from sluice.ops.text import command
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.partitions.partition_keys import canonical_landing


def named_job(desk: OperatorContext, app: str, key: str) -> JobName:
    """Return the job with its canonical key. Without definitions, return the key as typed."""
    if not desk.settings.apps:
        return JobName(app, key)
    return canonical(desk, app, key)


class Named(NamedTuple):
    """Name of a job. ``unknown`` is the error if the definitions do not have it. The ledger may still have such a job
    from before the definitions changed.
    """

    name: JobName
    unknown: BadRequest | None


def recorded_job(desk: OperatorContext, app: str, key: str) -> Named:
    """Return the job with its canonical key, or with the key as typed if the definitions do not have it."""
    try:
        return Named(named_job(desk, app, key), None)
    except (UnknownApp, BadKey) as error:
        return Named(JobName(app, key), error)


def canonical(desk: OperatorContext, app: str, key: str) -> JobName:
    """Return the job with its canonical key. UnknownApp or BadKey if the definitions do not have it. The placeholder
    for a partition of an external table has the name of the table as its app.
    """
    if app in desk.catalogue.externals and app not in desk.catalogue:
        return JobName(app, canonical_landing(desk.catalogue.externals[app], app, key))
    known = desk.catalogue.app(app)
    return JobName(known.name, keyspace_of(known, desk.catalogue).canonical(known, key))


def related(desk: OperatorContext, app: str, key: str) -> JobName:
    """Return the job with its canonical key, if its upstream and downstream jobs follow from the definitions.
    BadRequest for an app keyed by chunk.
    """
    name = canonical(desk, app, key)
    if desk.catalogue[name.app].chunking:
        raise BadRequest(
            f"{name.app} is keyed by chunk: the parents of its chunks were decided when they were planned.",
            advice=f"`{command('show', name)}` shows them; `sluice plan {name.app}` shows the current parents.",
        )
    return name
