"""Records of one existing job."""

import msgspec

from sluice.jobs.errors import BadRequest, Unreachable
from sluice.jobs.model.history import Round
from sluice.jobs.text.redaction import masked_value
from sluice.ledger.reads.job_details import ALL, Dossier, ReadLimits, dossier, one_round
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.resolve_job import meant_job
from sluice.ops.text import command


def dossier_of(
    context: OperatorContext, installation: Installation, app: str, key: str, bounds: ReadLimits = ALL
) -> Dossier:
    """Return the records of a job. BadRequest if it is not in the ledger. If the ledger is out of reach and the
    definitions do not have the job, the error is about the definitions.
    """
    name, unknown = meant_job(context, installation, app, key)
    try:
        found = installation.ask(lambda tx: dossier(tx, name, bounds))
    except Unreachable as error:
        raise unknown or error from None
    if found is None:
        raise unknown or BadRequest(
            f"The ledger has no job {name}.", advice=f"`{command('why', name)}` shows the reason."
        )
    return found


def round_of(context: OperatorContext, installation: Installation, app: str, key: str, claim: int) -> Round:
    """Return the round of a job with this claim. BadRequest if the job has had no such claim. If the ledger is out of
    reach and the definitions do not have the job, the error is about the definitions.
    """
    name, unknown = meant_job(context, installation, app, key)
    try:
        found = installation.ask(lambda tx: one_round(tx, name, claim))
    except Unreachable as error:
        raise unknown or error from None
    if found is None:
        raise unknown or BadRequest(
            f"{name} has had no claim {claim}.",
            advice=f"`{command('show', name)}` lists its claims.",
        )
    return found


def result_text(context: OperatorContext, installation: Installation, app: str, key: str) -> str:
    """Return the result of a job as indented JSON, from the ledger or the blob store. Passwords in URLs are masked.

    BadRequest if the job has no result. If the ledger is out of reach and the definitions do not have the job, the
    error is about the definitions.
    """
    name, unknown = meant_job(context, installation, app, key)
    try:
        found = installation.client.read_result(name)
    except Unreachable as error:
        raise unknown or error from None
    if found is None:
        raise BadRequest(f"{name} has no result: it has returned none.")
    return msgspec.json.format(msgspec.json.encode(masked_value(found)), indent=2).decode()
