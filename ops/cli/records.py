"""Reading the records of one job that has to be there."""

from jobs.errors import BadRequest, Unreachable
from ledger.reads.dossier import Dossier, dossier
from ops.cli.desk import Desk
from ops.cli.installation import Installation
from ops.cli.meant import meant_job
from ops.words import command


def dossier_of(desk: Desk, installation: Installation, app: str, key: str) -> Dossier:
    """BadRequest where the ledger has never heard of it, or cannot be asked about what the definitions do not have."""
    name, unknown = meant_job(desk, installation, app, key)
    try:
        found = installation.ask(lambda tx: dossier(tx, name))
    except Unreachable as error:
        raise unknown or error from None
    if found is None:
        raise unknown or BadRequest(
            f"The ledger has no job {name}.", advice=f"`{command('why', name)}` says more."
        )
    return found
