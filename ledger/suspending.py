"""Suspended jobs go on: what they waited for has come, or somebody says that it has."""

from jobs.states import RESUME, By
from ledger.connection import Tx
from ledger.release import Ready, release
from ledger.sql import move

_RESUME = move(RESUME, By.PLANNER, sets="event = NULL")


def resume(tx: Tx, jobs: list[int]) -> list[Ready]:
    """Those of the jobs that are suspended wait for their turn again, in the round they were in."""
    return release(tx, By.PLANNER, tx.column(_RESUME, jobs=jobs))
