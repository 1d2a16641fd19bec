"""Who gives up a slot of a pool, and who stands in line for one. Whoever does either notes the pool (``Tx.pools``).

Nobody counts slots: a job that is ready or running *is* one. ``pools`` says who gets those that are free.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sluice.ledger.connection import Tx
from sluice.ledger.driver import Row


class Released(NamedTuple):
    """The rows of those that are ready, and the ids of those that stand in line for it."""

    ready: list[Row]
    in_line: list[int]


def move_out(tx: Tx, sql: str, **params: object) -> list[int]:
    """The jobs that this statement of ``sql.move`` moves; those that had a slot give it up."""
    moved = tx.rows(sql, **params)
    tx.pools.update(pool for _, pool in moved if pool is not None)
    return [id for id, _ in moved]


def line_up(tx: Tx, rows: Iterable[Row]) -> Released:
    """What a move that lets jobs stand in line came to: each row says last in which pool's it stands, if in any."""
    released = Released([], [])
    for *row, pool in rows:
        if pool is None:
            released.ready.append(tuple(row))
        else:
            tx.pools.add(pool)
            released.in_line.append(row[0])
    return released
