"""Cuts of lists of work IDs.

A cut is a piece of the sorted list, given by its first position and the position after its last. The list is divided
into stretches as long as the longest chunk of any app, and each app cuts every stretch by its own size. So no chunk
reaches into two stretches, and each stretch is a graph by itself.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from sluice.jobs.work_ids import Part, WorkId, in_order

Cut: TypeAlias = tuple[int, int]


def cuts(length: int, size: int, longest: int) -> list[Cut]:
    """Return pieces of this size. The last piece of a stretch may be shorter."""
    return [
        (start, min(start + size, stretch + longest, length))
        for stretch in range(0, length, longest)
        for start in range(stretch, min(stretch + longest, length), size)
    ]


def touching(these: Sequence[Cut], those: Sequence[Cut]) -> Iterator[tuple[Cut, Cut]]:
    """Yield the pairs of cuts that share a position. Both lists are sorted, and the cuts of one list do not overlap."""
    begin = 0
    for this in these:
        while begin < len(those) and those[begin][1] <= this[0]:
            begin += 1
        at = begin
        while at < len(those) and those[at][0] < this[1]:
            yield this, those[at]
            at += 1


def positions(ids: Sequence[WorkId], part: Part) -> Cut:
    """Return the positions in the sorted list at which the IDs of a part are; empty if it has none of them."""
    first, last = (part, part) if isinstance(part, str) else (part[0], part[-1])
    return (
        bisect_left(ids, in_order(first), key=in_order),
        bisect_right(ids, in_order(last), key=in_order),
    )
