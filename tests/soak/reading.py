"""Reading of the state at one moment, from the ledger and from the kernel."""

import os
import statistics
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger, Tx

_LAST = "SELECT coalesce(max(id), 0) FROM history"
# Times between a release and a claim of one job, for new claims.
_WAITED_MS = f"""
SELECT extract(epoch FROM claimed.at - ready.at) * 1000 FROM transition claimed
JOIN transition ready ON ready.job = claimed.job AND ready.target = '{State.READY}'
WHERE claimed.target = '{State.RUNNING}' AND claimed.id > %(after)s ORDER BY claimed.id DESC LIMIT 5000
"""
_ENDED = f"SELECT coalesce(sum(jobs), 0)::bigint FROM state_count WHERE state = '{State.SUCCEEDED}'"
_TABLES = """
SELECT relname, pg_total_relation_size(relid), n_dead_tup::float8 / greatest(n_live_tup, 1)
FROM pg_stat_user_tables ORDER BY 2 DESC LIMIT 4
"""


class Reading(Struct, frozen=True, kw_only=True):
    """One reading.

    ``waited_ms`` is how long jobs were ready before a worker claimed them, since the last reading: median and 99th
    percentile. ``memory`` is in bytes, by the name of the process. ``tables`` are the largest, with the bytes of each
    and the number of dead rows per live row. ``place`` is the last id of the history.
    """

    at_s: float
    ended: int
    waited_ms: tuple[float, float]
    memory: Mapping[str, int]
    tables: Mapping[str, tuple[int, float]]
    place: int


def read(ledger: Ledger, processes: Mapping[str, int], *, at_s: float, after: int) -> Reading:
    """Take a reading. ``after`` is the ``place`` of the reading before."""

    def look(tx: Tx) -> Reading:
        waited = sorted(float(each) for each in tx.column(_WAITED_MS, after=after))
        return Reading(
            at_s=at_s,
            ended=tx.column(_ENDED)[0],
            waited_ms=_middle_and_most(waited),
            memory={name: _resident_bytes(pid) for name, pid in processes.items()},
            tables={name: (int(size), float(dead)) for name, size, dead in tx.rows(_TABLES)},
            place=tx.column(_LAST)[0],
        )

    return ledger.transact(look)


def _middle_and_most(sample: list[float]) -> tuple[float, float]:
    if not sample:
        return 0.0, 0.0
    return statistics.median(sample), sample[min(len(sample) - 1, int(len(sample) * 0.99))]


def _resident_bytes(pid: int) -> int:
    """Return the memory of a process and its children that none of them shares with another process."""
    return sum(_own_bytes(each) for each in [pid, *_children(pid)])


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *_children(child)]
    return found


def _own_bytes(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except FileNotFoundError:
        return 0  # The server process of a connection has ended meanwhile.
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
