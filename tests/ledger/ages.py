"""Helpers that let months pass, and that prune history that is old enough by then."""

from typing import Any

from sluice.ledger.retention import removal
from sluice.ledger.retention.removal import Removed
from tests.world import World

DAY_S = 86400.0
KEEP_S = 30 * DAY_S

_LEFT = """
SELECT (SELECT count(*) FROM transition) + (SELECT count(*) FROM round) + (SELECT count(*) FROM saga_journal)
     + (SELECT count(*) FROM saga_signal) + (SELECT count(*) FROM saga_progress)
"""


def prune(world: World, *, keep_s: float = KEEP_S, limit: int = 1000) -> Removed:
    return world.ledger.transact(lambda tx: removal.prune(tx, keep_s=keep_s, limit=limit)).removed


def later(world: World, days: float = 31) -> None:
    """Let this many days pass. Then register a new worker, because the lease of the old one is over."""
    world.tick(after_s=days * DAY_S)
    world.worker = world.hire()


def pruned(world: World) -> set[str]:
    """Return the jobs of which the history was removed since they ended."""
    rows: list[tuple[Any, ...]] = world.ledger.transact(
        lambda tx: tx.rows("SELECT app, key FROM job WHERE pruned_at > changed_at")
    )
    return {app if key == "1" else f"{app}/{key}" for app, key in rows}


def left(world: World) -> int:
    """Return the number of rows of history, of all jobs."""
    return int(world.ledger.transact(lambda tx: tx.column(_LEFT))[0])
