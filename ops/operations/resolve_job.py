"""Resolution of an app and a key to a job of the ledger. The key may name partitions instead of a job."""

from collections.abc import Sequence

from sluice.jobs.catalogue.resolve.tables import table_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import job_details
from sluice.ledger.reads.by_partition.table_partitions import Makers, TableVersion, makers
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.job_names import Named, recorded_job
from sluice.ops.text import command
from sluice.planner.keyspaces.partitions.partition_keys import (
    app_of_key,
    partitioning_of,
    read_key,
    text_of,
)

#: Maximum number of jobs that the error names.
NAMED_MAX = 3


def meant_job(context: OperatorContext, installation: Installation, app: str, key: str) -> Named:
    """Return the job with this name. If it does not exist, return the job that makes or made these partitions, if there
    is one. BadRequest if they belong to several jobs, or if some of them landed from elsewhere.
    """
    named = recorded_job(context, app, key)
    found = context.catalogue.get(named.name.app) if context.settings.apps and not named.unknown else None
    if found is None or found.partitioning is None or found.unbounded:
        return named
    return Named(installation.ask(lambda tx: _job(tx, context, found, named.name)), None)


def _job(tx: Tx, context: OperatorContext, app: App, name: JobName) -> JobName:
    if job_details.job(tx, name) is not None:
        return name
    app = app_of_key(app, name.key)
    table = table_of(context.catalogue, partitioning_of(app).table)
    span = read_key(app, name.key)
    found = makers(tx, TableVersion(table.name, table.version), span, limit=NAMED_MAX + 1)
    if len(found.jobs) > 1 or found.landed:
        raise _not_one(app, text_of(app, span), found)
    return found.jobs[0] if found.jobs else name


def _not_one(app: App, span: str, found: Makers) -> BadRequest:
    if not found.jobs:
        return BadRequest(
            f"No job made {span} of {app.name}: it came from elsewhere.",
            where=app.name,
            advice=f"`sluice submit {app.name} {span} --rerun job` makes it here.",
        )
    return BadRequest(
        f"{span} of {app.name} is not the work of one job: {_listed(found.jobs)}{_landed(found)}.",
        where=app.name,
        advice=f"Name one job, like `{command('show', found.jobs[0])}`.",
    )


def _listed(jobs: Sequence[JobName]) -> str:
    named = ", ".join(job.key for job in jobs[:NAMED_MAX])
    return f"{named} and more" if len(jobs) > NAMED_MAX else named


def _landed(found: Makers) -> str:
    return f", and {found.landed} came from elsewhere" if found.landed else ""
