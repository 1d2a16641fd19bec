"""Canonical names of jobs."""

from typing import NamedTuple

from sluice.jobs.errors import BadKey, BadRequest, UnknownApp
from sluice.jobs.model.names import JobName
from sluice.ops.operations.context import OperatorContext
from sluice.ops.text import command
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.partitions.partition_keys import canonical_landing


def named_job(context: OperatorContext, app: str, key: str) -> JobName:
    """Return the job with its canonical key. Without definitions, return the key as typed."""
    if not context.settings.apps:
        return JobName(app, key)
    return canonical(context, app, key)


class Named(NamedTuple):
    """Name of a job. ``unknown`` is the error if the definitions do not have it. The ledger may still have such a job
    from before the definitions changed.
    """

    name: JobName
    unknown: BadRequest | None


def recorded_job(context: OperatorContext, app: str, key: str) -> Named:
    """Return the job with its canonical key, or with the key as typed if the definitions do not have it."""
    try:
        return Named(named_job(context, app, key), None)
    except (UnknownApp, BadKey) as error:
        return Named(JobName(app, key), error)


def job_of(context: OperatorContext, text: str) -> JobName:
    """Return the job that a text like ``report/20261120`` names, with its canonical key as far as it is known."""
    app, slash, key = text.partition("/")
    if not slash:
        raise BadRequest(f"{text!r} is not the name of a job.", advice="Write it like report/20261120.")
    return recorded_job(context, app, key).name


def canonical(context: OperatorContext, app: str, key: str) -> JobName:
    """Return the job with its canonical key. UnknownApp or BadKey if the definitions do not have it. The placeholder
    for a partition of an external table has the name of the table as its app.
    """
    if app in context.catalogue.externals and app not in context.catalogue:
        return JobName(app, canonical_landing(context.catalogue.externals[app], app, key))
    known = context.catalogue.app(app)
    return JobName(known.name, keyspace_of(known, context.catalogue).canonical(known, key))


def related(context: OperatorContext, app: str, key: str) -> JobName:
    """Return the job with its canonical key, if its upstream and downstream jobs follow from the definitions.
    BadRequest for an app keyed by chunk.
    """
    name = canonical(context, app, key)
    if context.catalogue[name.app].chunking:
        raise BadRequest(
            f"{name.app} is keyed by chunk: the parents of its chunks were decided when they were planned.",
            advice=f"`{command('show', name)}` shows them; `sluice plan {name.app}` shows the current parents.",
        )
    return name
