"""Takings of twelve shops, from files that arrive each night to features and reports.

    ingest ─► check ─► clean              a job for each day and shop
    clean ─► daily                        a job for each day; together they make the table ``revenue``
    daily ─► regions ─► region ─► ranking
    revenue ─► features, weekly           partitions

- ``features`` reads seven days of ``revenue`` for each day, ``weekly`` the days of a week. They are keyed by partition.
- ``regions`` finds out which regions had sales on a day, and adds a job for each. ``ranking`` needs all of them.
- ``check`` stops a shop's day if its data is wrong. ``alert`` gets each failure, and each recovery.

Files are in the folder ``RETAIL_DATA``. Each job writes one file as a whole, so a job that runs again replaces it.
"""

import csv
import json
import os
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sluice import Job, app, each

SHOPS = {
    f"s{number:02}": region for number, region in enumerate(["north", "south", "east", "west"] * 3, start=1)
}

notify = [{"on": ["failed", "recovered"], "app": "alert"}]


class DamagedFile(Exception):
    """The file cannot be read. It will not get better by itself."""


class ImplausibleData(Exception):
    """The data contradicts known facts about it."""


@app(never_retry=[DamagedFile])
def ingest(date: date, shop: str = each([*SHOPS])) -> int:
    with (_folder("inbox") / f"{date}_{shop}.csv").open() as file:
        rows = [*csv.DictReader(file)]
    if any(row.get("amount") is None for row in rows):
        raise DamagedFile(f"the takings of {shop} on {date} have lines without an amount")
    _write("raw", f"{date}_{shop}", rows)
    return len(rows)


@app(needs=[ingest])
def check(date: date, shop: str = each([*SHOPS])) -> None:
    for row in _read("raw", f"{date}_{shop}"):
        if float(row["amount"]) < 0:
            raise ImplausibleData(f"{shop} took {row['amount']} for {row['item']} on {date}")


@app(needs=[check])
def clean(date: date, shop: str = each([*SHOPS])) -> float:
    items: Counter[str] = Counter()
    for row in _read("raw", f"{date}_{shop}"):
        items[row["item"].strip().lower()] += round(float(row["amount"]) * 100)
    _write("clean", f"{date}_{shop}", dict(sorted(items.items())))
    return items.total() / 100


@app(needs=[clean.all("shop")], output_table="revenue")
def daily(job: Job, date: date) -> float:
    total = sum(job.results(clean).values())
    _write("revenue", str(date), total)
    return total


@app(
    partition="day",
    step_size=7,
    table_dependencies=[{"table": "revenue", "start_offset": 6, "partition": {"first": "2026-10-12"}}],
)
def features(job: Job, partitions: list[str]) -> None:
    for day in partitions:
        last = date.fromisoformat(day)
        days = [str(last - timedelta(days=back)) for back in range(7)]
        _write("features", day, sum(_read("revenue", each) for each in days if _exists("revenue", each)))
        job.done(day)


@app(partition="week", table_dependencies=[{"table": "revenue"}])
def weekly(partitions: list[str]) -> None:
    (week,) = partitions
    monday = date.fromisoformat(f"{week}-1")
    _write("weekly", week, sum(_read("revenue", str(monday + timedelta(days=day))) for day in range(7)))


@app
def region(date: date, region: str) -> float:
    shops = [shop for shop, of in SHOPS.items() if of == region]
    return sum(sum(_read("clean", f"{date}_{shop}").values()) for shop in shops) / 100


@app(needs=[daily])
def regions(job: Job, date: date) -> None:
    open_shops = [shop for shop in SHOPS if _read("clean", f"{date}_{shop}")]
    found = sorted({SHOPS[shop] for shop in open_shops})
    job.expand(region, [{"region": name} for name in found], then=ranking)


@app(needs=[regions])
def ranking(job: Job, date: date) -> list[str]:
    takings = {key.partition("_")[2]: amount for key, amount in job.results(region).items()}
    ranked = sorted(takings, key=lambda name: (-takings[name], name))
    _write("ranking", str(date), ranked)
    return ranked


@app
def alert(event: str, *, notification: dict[str, Any]) -> None:
    _write("alerts", event, notification)


def _folder(name: str) -> Path:
    return Path(os.environ["RETAIL_DATA"]) / name


def _exists(kind: str, name: str) -> bool:
    return (_folder(kind) / f"{name}.json").exists()


def _read(kind: str, name: str) -> Any:
    return json.loads((_folder(kind) / f"{name}.json").read_text())


def _write(kind: str, name: str, content: object) -> None:
    """Write a file as a whole, so that a reader never sees a part of it."""
    folder = _folder(kind)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{name}.{os.getpid()}"
    partial.write_text(json.dumps(content))
    partial.replace(folder / f"{name}.json")
