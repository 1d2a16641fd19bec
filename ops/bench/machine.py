"""Reference figures of the machine itself, so that results of different machines can be compared."""

import os
from collections.abc import Callable
from statistics import median

from sluice.jobs.model.submission import Submission
from sluice.ledger import fixtures
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import submissions
from sluice.ops.bench.sample import Figures, took_s

#: Repetitions of each measurement. Its figure is the median.
_REPEATED = 200
_ADDITIONS = 100_000


def reference_figures(ledger_url: str) -> Figures:
    """Return the number of cores, the time of a million additions in Python, of a round trip to Postgres, and of a
    commit of one row."""
    ledger = Ledger(ledger_url, connections=1, steady=True)
    ledger.transact(lambda tx: submissions.receive(tx, [Submission(app="a", id="bench")]))
    with ledger.begin() as tx:
        round_trip_s = _median_s(tx.current_time)
    commit_s = _median_s(lambda: ledger.transact(fixtures.touch))
    ledger.close()
    return {
        "cores": os.cpu_count() or 1,
        "million_additions_ms": _median_s(_add) * 1000 * (1_000_000 / _ADDITIONS),
        "round_trip_us": round_trip_s * 1_000_000,
        "commit_ms": commit_s * 1000,
    }


def _median_s(act: Callable[[], object]) -> float:
    return median(took_s(act) for _ in range(_REPEATED))


def _add() -> int:
    total = 0
    for number in range(_ADDITIONS):
        total += number
    return total
