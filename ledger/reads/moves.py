"""All transitions of all jobs in order, as simulations need them."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.connection import Tx

_MOVES = """
SELECT job.app, job.key, transition.target, transition.at
FROM transition JOIN job ON job.id = transition.job ORDER BY transition.id
"""


class Move(Struct, frozen=True):
    """Transition of a job into a state."""

    app: str
    key: str
    target: State
    at: datetime


def moves(tx: Tx) -> list[Move]:
    return tx.structs(Move, _MOVES)
