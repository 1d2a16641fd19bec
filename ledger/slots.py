"""Slots of pools: jobs that release a slot and jobs that start to wait for one. Both note the pool (``Tx.pools``).

Slots are not counted in any table: each job that is ready or running occupies one. ``pools`` assigns free slots.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sluice.ledger.connection import Tx
from sluice.ledger.driver import Row


class Released(NamedTuple):
    """Rows of the jobs that are ready, and ids of the jobs that wait for a slot."""

    ready: list[Row]
    in_line: list[int]


def move_out(tx: Tx, sql: str, **params: object) -> list[int]:
    """Move jobs by this statement of ``sql.move`` and return them. A job that had a slot releases it."""
    moved = tx.rows(sql, **params)
    tx.pools.update(pool for _, pool in moved if pool is not None)
    return [id for id, _ in moved]


def line_up(tx: Tx, rows: Iterable[Row]) -> Released:
    """Sort the rows of a move that lets jobs wait for a slot. The last column is the pool of a job that waits, else
    null."""
    released = Released([], [])
    for *row, pool in rows:
        if pool is None:
            released.ready.append(tuple(row))
        else:
            tx.pools.add(pool)
            released.in_line.append(row[0])
    return released
