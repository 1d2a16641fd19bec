"""Identity of the installation, which brokers compare: two ledgers must not share a virtual host.

A backup that is restored keeps the identity, so its workers go on with their broker. A copy that runs beside its
original must get another identity first, or the two would pass for the same installation.
"""

from uuid import UUID

from psycopg.errors import UndefinedTable

from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.transitions import NOW

_ID = "SELECT id FROM installation"
_RENEW = f"UPDATE installation SET id = gen_random_uuid(), since = {NOW} RETURNING id"


def identity(tx: Tx) -> UUID:
    found: UUID = tx.column(_ID)[0]
    return found


def is_behind(ledger: Ledger, identity: UUID) -> bool:
    """Return whether the pooler of this ledger leads to the ledger with this identity."""
    try:
        found = ledger.transact(lambda tx: tx.column(_ID))
    except UndefinedTable:
        return False
    return found == [identity]


def renew(tx: Tx) -> UUID:
    """Give the ledger another identity."""
    found: UUID = tx.column(_RENEW)[0]
    return found
