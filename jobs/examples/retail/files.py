"""Files of takings, as the shops would send them. ``python -m sluice.jobs.examples.retail.files FOLDER`` writes forty
days."""

import csv
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from sluice.jobs.examples.retail.pipeline import SHOPS

FIRST, LAST = date(2026, 10, 12), date(2026, 11, 20)
_ITEMS = ("Bread", " milk", "Tea ")


def days(first: date = FIRST, last: date = LAST) -> Iterator[date]:
    """Yield each day, with both ends."""
    return (first + timedelta(days=number) for number in range((last - first).days + 1))


def write_takings(folder: Path, day: date, shop: str, *, price: float = 1.0) -> None:
    """Write the takings of one shop on one day."""
    sold = (day.toordinal() + int(shop[1:])) % 5 + 1
    _write(folder, day, shop, [(item, f"{sold * price:.2f}") for item in _ITEMS])


def write_damaged(folder: Path, day: date, shop: str) -> None:
    """Write a file whose last line is cut off."""
    _write(folder, day, shop, [("Bread", "1.00"), ("Milk",)])


def write_implausible(folder: Path, day: date, shop: str) -> None:
    """Write a file with a negative amount."""
    _write(folder, day, shop, [("Bread", "1.00"), ("Milk", "-3.00")])


def _write(folder: Path, day: date, shop: str, rows: list[tuple[str, ...]]) -> None:
    folder = folder / "inbox"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{day}_{shop}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("item", "amount"), *rows])


def main(arguments: list[str]) -> None:
    """Write all files into the folder that is given."""
    for day in days():
        for shop in SHOPS:
            write_takings(Path(arguments[0]), day, shop)


if __name__ == "__main__":
    main(sys.argv[1:])
