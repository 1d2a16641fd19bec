"""Of many rows that are alike the first few, so that they do not hide the others."""

import argparse
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

Row = TypeVar("Row")

#: So many rows that are alike and follow each other are shown; of more, so many.
SHOWN_MAX, SHOWN = 12, 10


def all_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="show all of many alike (JSON always has all)")


def excerpt(
    rows: Iterable[Row], alike: Callable[[Row], object], rest: Callable[[Row, str], Row], *, whole: bool
) -> Iterator[Row]:
    """``rest`` makes one of the rows that are left out stand for all of them, with these words."""
    for _, following in groupby(rows, key=alike):
        members = list(following)
        if whole or len(members) <= SHOWN_MAX:
            yield from members
        else:
            yield from members[:SHOWN]
            yield rest(members[SHOWN], f"… and {len(members) - SHOWN} more (--all)")
