"""Rounds that end without their worker: the job was taken from it while it ran, and what it brings is refused."""

from jobs.history import Lost
from jobs.states import State
from ledger.connection import Tx
from ledger.sql import NOW

_CUT_SHORT = f"""
UPDATE round SET executed_at = {NOW}, ending = %(ending)s, error = %(ending)s
FROM job WHERE job.id = ANY(%(jobs)s) AND round.job = job.id AND round.claim = job.claim AND round.ending IS NULL
"""


def cut_short(tx: Tx, jobs: list[int], ending: Lost | State) -> None:
    """End the rounds of those of the jobs that this transaction has taken from a worker."""
    if jobs:
        tx.write(_CUT_SHORT, jobs=jobs, ending=ending)
