"""How one job is named."""

from typing import NamedTuple

from sluice.jobs.errors import BadKey, BadRequest, UnknownApp
from sluice.jobs.ref import JobName
from sluice.ops.desk.desk import Desk
from sluice.ops.words import command
from sluice.planner.keyspaces import keyspace_of
from sluice.planner.partition_keys import canonical_landing


def named_job(desk: Desk, app: str, key: str) -> JobName:
    """The job by its canonical key; as it was typed where no definitions are at hand to tell."""
    if not desk.settings.apps:
        return JobName(app, key)
    return canonical(desk, app, key)


class Named(NamedTuple):
    """``unknown`` is what the definitions have against it. The ledger may have it all the same, from before they
    changed."""

    name: JobName
    unknown: BadRequest | None


def recorded_job(desk: Desk, app: str, key: str) -> Named:
    """The job by its canonical key, or as it was typed where the definitions do not have it."""
    try:
        return Named(named_job(desk, app, key), None)
    except (UnknownApp, BadKey) as error:
        return Named(JobName(app, key), error)


def canonical(desk: Desk, app: str, key: str) -> JobName:
    """The job by its canonical key. UnknownApp or BadKey where the definitions know better. What stands for a
    partition that others bring is called like their table."""
    if app in desk.catalogue.externals and app not in desk.catalogue:
        return JobName(app, canonical_landing(desk.catalogue.externals[app], app, key))
    known = desk.catalogue.app(app)
    return JobName(known.name, keyspace_of(known, desk.catalogue).canonical(known, key))


def related(desk: Desk, app: str, key: str) -> JobName:
    """The same, of a job whose relatives can be read from the definitions."""
    name = canonical(desk, app, key)
    if desk.catalogue[name.app].chunking:
        raise BadRequest(
            f"{name.app} is keyed by chunk: who its chunks wait for was decided when they were planned.",
            advice=f"`{command('show', name)}` tells it, and `sluice plan {name.app}` what it would be now.",
        )
    return name
