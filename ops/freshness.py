"""When an app last succeeded, in the words that ``--facts`` takes, and for people."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct

from sluice.jobs.app import App
from sluice.jobs.chunking import Chunking
from sluice.jobs.masking import masked_kwargs
from sluice.jobs.work_ids import WorkId, in_order
from sluice.ledger.reads.successes import Success


class Told(Struct, frozen=True, kw_only=True):
    """``runs`` are the last submissions of the app that succeeded, by mark. ``never`` is what was asked for by name and
    has not succeeded so far, by mark; ``more``: the rest is not told."""

    now: datetime
    successes: Sequence[Success]
    runs: Mapping[str, datetime] = {}
    never: Mapping[str, Sequence[WorkId]] = {}
    more: bool = False


class Alike(Struct, frozen=True, kw_only=True):
    """Work IDs, or keys, that succeeded at one time, or never."""

    mark: str
    names: Sequence[WorkId]
    at: datetime | None = None


def as_document(app: App, told: Told) -> dict[str, Any]:
    """Of an app that is fresh by kwargs each set of these is told apart, as JSON."""
    times: dict[str, dict[str, datetime]] = {}
    for each in told.successes:
        times.setdefault(each.mark, {})[each.name] = each.at
    if app.chunking is None:
        return {"freshness": {app.name: times.get("", {})}}
    if app.chunking.freshness_by:
        return {"freshness": {app.name: times}, "runs": {app.name: told.runs}}
    runs = {app.name: told.runs[""]} if told.runs else {}
    return {"freshness": {app.name: times.get("", {})}, "runs": runs}


def alike(told: Told) -> Iterator[Alike]:
    """What never succeeded, then what did, the longest ago first."""
    yield from (Alike(mark=mark, names=names) for mark, names in told.never.items() if names)
    ordered = sorted(told.successes, key=lambda each: (each.at, each.mark))
    for (at, mark), members in groupby(ordered, key=lambda each: (each.at, each.mark)):
        yield Alike(mark=mark, names=sorted(map(_id, (each.name for each in members)), key=in_order), at=at)


def is_kept(mark: str, chunking: Chunking) -> bool:
    """Whether results of the app as it is defined now may stand under this mark."""
    return [*_kwargs(mark)] == sorted(chunking.freshness_by)


def in_words(mark: str) -> str:
    """``region=eu, year=2024``."""
    return ", ".join(f"{name}={_plain(value)}" for name, value in masked_kwargs(_kwargs(mark)).items())


def never(
    ids: Sequence[WorkId], marks: Iterable[str], successes: Iterable[Success]
) -> dict[str, list[WorkId]]:
    """Of each mark, those of the IDs that have not succeeded."""
    known = {(each.mark, each.name) for each in successes}
    return {mark: [each for each in ids if (mark, str(each)) not in known] for mark in marks}


def _kwargs(mark: str) -> dict[str, Any]:
    return msgspec.json.decode(mark, type=dict[str, Any]) if mark else {}


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _id(name: str) -> WorkId:
    """A work ID as it was before the ledger made a text of it."""
    number = name.removeprefix("-")
    return int(name) if number.isdecimal() and number.isascii() and str(int(name)) == name else name
