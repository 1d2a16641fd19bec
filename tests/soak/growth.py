"""Whether something grows that is to stay as it is."""

import statistics
from collections.abc import Iterator, Sequence

from tests.soak.reading import Reading

#: What a process has at the end of the last third may be so many times what it had in the middle one, and so much more.
TIMES, MORE_BYTES = 1.15, 8 * 1024 * 1024


def growing(readings: Sequence[Reading]) -> Iterator[str]:
    """Each process that does, from the middle third of its time to the last: in the first it warms up. A ledger grows
    by a row for each job, and so do its tables; that is none of this."""
    third = len(readings) // 3
    if not third:
        return
    middle, last = readings[third : 2 * third], readings[-third:]
    for name in readings[0].memory:
        before = statistics.median(each.memory[name] for each in middle)
        after = statistics.median(each.memory[name] for each in last)
        if after > before * TIMES + MORE_BYTES:
            yield f"{name} has grown from {before / 2**20:.0f} to {after / 2**20:.0f} MiB"
