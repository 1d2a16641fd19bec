"""Reading the records of one job that has to be there."""

from sluice.jobs.errors import BadRequest, Unreachable
from sluice.jobs.history import Round
from sluice.ledger.reads.dossier import ALL, Bounds, Dossier, dossier, one_round
from sluice.ops.desk.desk import Desk
from sluice.ops.desk.installation import Installation
from sluice.ops.desk.meant import meant_job
from sluice.ops.words import command


def dossier_of(desk: Desk, installation: Installation, app: str, key: str, bounds: Bounds = ALL) -> Dossier:
    """BadRequest where the ledger has never heard of it, or cannot be asked about what the definitions do not have."""
    name, unknown = meant_job(desk, installation, app, key)
    try:
        found = installation.ask(lambda tx: dossier(tx, name, bounds))
    except Unreachable as error:
        raise unknown or error from None
    if found is None:
        raise unknown or BadRequest(
            f"The ledger has no job {name}.", advice=f"`{command('why', name)}` says more."
        )
    return found


def round_of(desk: Desk, installation: Installation, app: str, key: str, claim: int) -> Round:
    """Likewise, and where the job has had no such claim."""
    name, unknown = meant_job(desk, installation, app, key)
    try:
        found = installation.ask(lambda tx: one_round(tx, name, claim))
    except Unreachable as error:
        raise unknown or error from None
    if found is None:
        raise unknown or BadRequest(
            f"{name} has had no claim {claim}.",
            advice=f"`{command('show', name)}` tells those that it has had.",
        )
    return found
