"""Shortened tables. Of many similar rows only the first few are shown, so that they do not hide the others."""

import argparse
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

Row = TypeVar("Row")

#: Maximum number of consecutive similar rows that are all shown, and the number of rows shown if there are more.
SHOWN_MAX, SHOWN = 12, 10


def all_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all",
        action="store_true",
        help="show every row; default: of many similar rows only the first few (JSON always has all)",
    )


def excerpt(
    rows: Iterable[Row], alike: Callable[[Row], object], rest: Callable[[Row, str], Row], *, whole: bool
) -> Iterator[Row]:
    """Yield the rows, shortened. ``rest`` changes the first omitted row so that it stands for all omitted rows, with a
    given text.
    """
    for _, following in groupby(rows, key=alike):
        members = list(following)
        if whole or len(members) <= SHOWN_MAX:
            yield from members
        else:
            yield from members[:SHOWN]
            yield rest(members[SHOWN], f"… and {len(members) - SHOWN} more (--all)")
