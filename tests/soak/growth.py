"""Check for growth of processes."""

import statistics
from collections.abc import Iterator, Sequence

from tests.soak.reading import Reading

#: Growth that is accepted from the middle third to the last: this factor, plus these bytes.
TIMES, MORE_BYTES = 1.15, 8 * 1024 * 1024


def growing(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield each process that grows from the middle third of the run to the last. In the first third it warms up.

    The ledger and its tables are not checked, because they grow by a row for each job.
    """
    third = len(readings) // 3
    if not third:
        return
    middle, last = readings[third : 2 * third], readings[-third:]
    for name in readings[0].memory:
        before = statistics.median(each.memory[name] for each in middle)
        after = statistics.median(each.memory[name] for each in last)
        if after > before * TIMES + MORE_BYTES:
            yield f"{name} has grown from {before / 2**20:.0f} to {after / 2**20:.0f} MiB"
