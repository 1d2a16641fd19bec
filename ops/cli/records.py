"""Reading the records of one job that has to be there."""

from jobs.errors import BadRequest
from ledger.reads.dossier import Dossier, dossier
from ops.cli.desk import Desk
from ops.cli.installation import Installation
from ops.cli.naming import named_job
from ops.words import command


def dossier_of(desk: Desk, installation: Installation, app: str, key: str) -> Dossier:
    """BadRequest where the ledger has never heard of it."""
    name = named_job(desk, app, key)
    found = installation.ask(lambda tx: dossier(tx, name))
    if found is None:
        raise BadRequest(f"The ledger has no job {name}.", advice=f"`{command('why', name)}` says more.")
    return found
