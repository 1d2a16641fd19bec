"""Values that an identifier may have: a list, or a range that is never expanded."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from math import prod

from msgspec import Struct

from sluice.jobs.identifiers import Value, number_of_day, parse_day


class Days(Struct, frozen=True):
    """Every ``step``-th day of a span, as numbers. The end is excluded. Only the ends are stored."""

    ordinals: range

    @classmethod
    def span(cls, first: date, end: date, step: int = 1) -> "Days":
        return cls(range(first.toordinal(), end.toordinal(), step))

    def __len__(self) -> int:
        return len(self.ordinals)

    def __iter__(self) -> Iterator[int]:
        return (number_of_day(date.fromordinal(ordinal)) for ordinal in self.ordinals)

    def __contains__(self, value: object) -> bool:
        try:
            return isinstance(value, int) and parse_day(str(value)).toordinal() in self.ordinals
        except ValueError:
            return False


class Values:
    """Values that an identifier may have, in the order written: a list, or a range that is never expanded.

    Length and membership take the same time for any size.
    """

    __slots__ = ("_items", "_members")

    def __init__(self, items: Iterable[Value] = ()) -> None:
        self._items = items if isinstance(items, range | Days) else tuple(items)
        self._members = frozenset(self._items) if isinstance(self._items, tuple) else self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._items)

    def __contains__(self, value: object) -> bool:
        if isinstance(self._items, range) and not isinstance(value, int):
            return False  # For any other type, a range would iterate over all its values.
        return value in self._members

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, Values) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return f"Values({self._items!r})"


def arithmetic(*products: Sequence[int]) -> str:
    """Return ``2,000 x 3,000 + 5 = 6,000,005``: the derivation of a number, which shows the list that is too long."""
    large = [[factor for factor in factors if factor > 1] or [1] for factors in products]
    told = " + ".join(" x ".join(f"{factor:,}" for factor in factors) for factors in large)
    total = f"{sum(map(prod, products)):,}"
    return total if told == total else f"{told} = {total}"
