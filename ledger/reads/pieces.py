"""Jobs that run in place of a split job: its halves, or the halves of these, to any depth."""

from collections.abc import Mapping

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import DEAD, LIVE, State, sql_list
from sluice.ledger.connection import Tx

#: Maximum number of listed pieces that have not succeeded.
TOLD_MAX = 20

_PIECES = f"""
WITH RECURSIVE within (id) AS (
    SELECT %(job)s::bigint UNION ALL SELECT half.id FROM within JOIN job half ON half.half_of = within.id
), piece AS (
    SELECT job.* FROM within JOIN job USING (id) WHERE job.state <> '{State.SPLIT}'
)
"""
_TALLY = f"{_PIECES} SELECT state, count(*) FROM piece GROUP BY state ORDER BY state"
_UNDONE = f"""
{_PIECES}
SELECT piece.app, piece.key, piece.state, last.error FROM piece LEFT JOIN LATERAL (
    SELECT error FROM round WHERE round.job = piece.id AND error IS NOT NULL ORDER BY claim DESC LIMIT 1) last ON true
WHERE piece.state IN ({sql_list(*sorted(DEAD | LIVE))})
ORDER BY piece.state IN ({sql_list(*sorted(LIVE))}), piece.id LIMIT %(limit)s
"""


class Piece(Struct, frozen=True):
    """Piece that has not succeeded, with its last error."""

    app: str
    key: str
    state: State
    error: str | None = None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Pieces(Struct, frozen=True):
    """Pieces of a split job. ``tally`` counts them by state. ``undone`` are the first pieces that have not succeeded,
    dead ones before live ones."""

    tally: Mapping[State, int] = {}
    undone: list[Piece] = []

    @property
    def dead(self) -> list[Piece]:
        return [piece for piece in self.undone if piece.state in DEAD]


def pieces(tx: Tx, job: int) -> Pieces:
    """Return the pieces of a split job."""
    tally = {State(state): count for state, count in tx.rows(_TALLY, job=job)}
    return Pieces(tally, tx.structs(Piece, _UNDONE, job=job, limit=TOLD_MAX))
