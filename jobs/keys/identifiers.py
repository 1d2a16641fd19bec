"""Kinds of identifiers in a key, and the values that an identifier may have.

A kind defines the accepted values and their canonical text. It parses a text of a key into a value, either text or a
whole number. A day is the number ``20140601``, so days sort, compare and print like the keys that contain them. ``str``
of a value is its canonical text, and parsing that text returns the value again. Identifiers can be compared with each
other if their kinds have the same ``underlying`` type.

``Values`` are the values that an identifier may have: a list, or a range that is never expanded.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from math import prod
from typing import ClassVar, TypeAlias

from msgspec import Struct

Value: TypeAlias = str | int

#: Longest value of one identifier in characters, so that a key fits into an index.
CHARS_MAX = 200

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DAY = re.compile(r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})")


class Text(Struct, frozen=True):
    """Any printable text."""

    underlying: ClassVar[str] = "str"
    example: ClassVar[str] = "abc"

    def parse(self, raw: str) -> Value:
        return _printable(raw)

    def __str__(self) -> str:
        return "str"


class Whole(Struct, frozen=True):
    """A whole number."""

    underlying: ClassVar[str] = "int"
    example: ClassVar[str] = "7"

    def parse(self, raw: str) -> Value:
        if len(raw) > CHARS_MAX or not _WHOLE.fullmatch(raw):
            raise ValueError(f"{_excerpt(raw)} is not a whole number")
        return int(raw)

    def __str__(self) -> str:
        return "int"


class Day(Struct, frozen=True):
    """A calendar day, ``20140601`` or ``2014-06-01``."""

    underlying: ClassVar[str] = "int"
    example: ClassVar[str] = "20140601"

    def parse(self, raw: str) -> Value:
        return number_of_day(parse_day(raw))

    def __str__(self) -> str:
        return "date"


class OneOf(Struct, frozen=True):
    """Type of an identifier with a fixed set of values. All of them are texts, or all are whole numbers."""

    allowed: tuple[Value, ...]

    def parse(self, raw: str) -> Value:
        value = Whole().parse(raw) if self.underlying == "int" else _printable(raw)
        if value not in self.allowed:
            raise ValueError(f"{_excerpt(raw)} is none of {', '.join(map(str, self.allowed))}")
        return value

    @property
    def underlying(self) -> str:
        return "int" if isinstance(self.allowed[0], int) else "str"

    @property
    def example(self) -> str:
        return str(self.allowed[0])

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.allowed))}"


class Checked(Struct, frozen=True):
    """Value that the user's function makes from the text. It refuses a text by raising, or by returning None or
    False.
    """

    example: ClassVar[str] = "abc"
    path: str
    function: Callable[[str], object]

    def parse(self, raw: str) -> Value:
        value = self._ask(_printable(raw))
        text = _printable(str(value))
        if text != raw and self._ask(text) != value:
            raise ValueError(f"{self.path} converts {raw!r} to {value!r}, but {text!r} to another value")
        return value

    def _ask(self, raw: str) -> Value:
        try:
            value = self.function(raw)
        except Exception as error:
            raise ValueError(f"{self.path} refused {raw!r}: {error}") from error
        if value is None or value is False:
            raise ValueError(f"{self.path} refused {raw!r}")
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ValueError(
                f"{self.path} returned {value!r} for {raw!r}; it has to be text or a whole number"
            )
        return value

    @property
    def underlying(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path


Identifier: TypeAlias = Text | Whole | Day | OneOf | Checked


def parse_day(raw: str) -> date:
    """Return the calendar day that ``20140601`` or ``2014-06-01`` names. Raises ValueError for any other text."""
    match = _DAY.fullmatch(raw)
    try:
        if match is None or match[1] < "1000":
            raise ValueError
        return date(int(match[1]), int(match[3]), int(match[4]))
    except ValueError:
        raise ValueError(f"{_excerpt(raw)} is not a day; write 20140601 or 2014-06-01") from None


def number_of_day(day: date) -> int:
    return day.year * 10_000 + day.month * 100 + day.day


def _printable(raw: str) -> str:
    if not raw:
        raise ValueError("it is empty")
    if len(raw) > CHARS_MAX:
        raise ValueError(f"{_excerpt(raw)} has more than {CHARS_MAX} characters")
    if not raw.isprintable():
        raise ValueError(f"{raw!r} has characters that cannot be printed")
    return raw


def _excerpt(raw: str) -> str:
    return repr(raw if len(raw) <= 40 else f"{raw[:40]}…")


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
