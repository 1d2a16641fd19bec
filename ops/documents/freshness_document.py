"""Last successes of an app, in the format of ``--facts`` and as text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.work_ids import WorkId, in_order
from sluice.jobs.model.app import App
from sluice.jobs.text.redaction import masked_kwargs
from sluice.ledger.reads.by_partition.last_successes import LastSuccess
from sluice.ops.documents import Document


class FreshnessReport(Struct, frozen=True, kw_only=True):
    """Successes of an app. ``runs`` has the last successful submission by freshness_scope. ``never`` has the work IDs
    or keys that were named in the request and have not succeeded, by freshness_scope. ``more``: there may be further
    successes.
    """

    now: datetime
    successes: Sequence[LastSuccess]
    runs: Mapping[str, datetime] = {}
    never: Mapping[str, Sequence[WorkId]] = {}
    more: bool = False


class FreshnessDocument(Document, frozen=True, kw_only=True):
    """Successes of an app in the format of ``--facts``. If the freshness of the app depends on kwargs, the times are
    nested by kwargs, written as JSON.
    """

    freshness: Mapping[str, Mapping[str, datetime | Mapping[str, datetime]]]
    runs: Mapping[str, datetime | Mapping[str, datetime]] | UnsetType = UNSET


class Alike(Struct, frozen=True, kw_only=True):
    """Work IDs or keys that last succeeded at the same time, or never succeeded."""

    freshness_scope: str
    names: Sequence[WorkId]
    at: datetime | None = None


def as_document(app: App, told: FreshnessReport) -> FreshnessDocument:
    times: dict[str, dict[str, datetime]] = {}
    for each in told.successes:
        times.setdefault(each.freshness_scope, {})[each.name] = each.at
    if app.chunking is None:
        return FreshnessDocument(freshness={app.name: times.get("", {})})
    if app.chunking.freshness_by:
        return FreshnessDocument(freshness={app.name: times}, runs={app.name: told.runs})
    runs = {app.name: told.runs[""]} if told.runs else {}
    return FreshnessDocument(freshness={app.name: times.get("", {})}, runs=runs)


def alike(told: FreshnessReport) -> Iterator[Alike]:
    """Yield the work IDs or keys grouped by their last success. Groups that never succeeded come first, then the
    oldest.
    """
    yield from (
        Alike(freshness_scope=freshness_scope, names=names)
        for freshness_scope, names in told.never.items()
        if names
    )
    ordered = sorted(told.successes, key=lambda each: (each.at, each.freshness_scope))
    for (at, freshness_scope), members in groupby(ordered, key=lambda each: (each.at, each.freshness_scope)):
        yield Alike(
            freshness_scope=freshness_scope,
            names=sorted(map(_id, (each.name for each in members)), key=in_order),
            at=at,
        )


def is_kept(freshness_scope: str, chunking: Chunking) -> bool:
    """Return whether the app's current definition stores results under freshness_scopes of this kind."""
    return [*_kwargs(freshness_scope)] == sorted(chunking.freshness_by)


def in_words(freshness_scope: str) -> str:
    """Return a freshness_scope as text, like ``region=eu, year=2024``."""
    return ", ".join(
        f"{name}={_plain(value)}" for name, value in masked_kwargs(_kwargs(freshness_scope)).items()
    )


def never(
    ids: Sequence[WorkId], freshness_scopes: Iterable[str], successes: Iterable[LastSuccess]
) -> dict[str, list[WorkId]]:
    """Return the IDs that have not succeeded, by freshness_scope."""
    known = {(each.freshness_scope, each.name) for each in successes}
    return {
        freshness_scope: [each for each in ids if (freshness_scope, str(each)) not in known]
        for freshness_scope in freshness_scopes
    }


def _kwargs(freshness_scope: str) -> dict[str, Any]:
    return msgspec.json.decode(freshness_scope, type=dict[str, Any]) if freshness_scope else {}


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _id(name: str) -> WorkId:
    """Return a work ID in its original type. The ledger stores every work ID as text."""
    number = name.removeprefix("-")
    return int(name) if number.isdecimal() and number.isascii() and str(int(name)) == name else name
