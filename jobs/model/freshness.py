"""Freshness of an app's results, per work ID."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.work_ids import Part
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import State

#: Longest freshness scope in characters. It is part of a key in the ledger and must fit into an index page.
_MARK_CHARACTERS_MAX = 500


class Age(NamedTuple):
    """Age of an app's results for some work IDs.

    ``missing`` is the number of IDs for which the app has never succeeded. ``oldest`` is the oldest success for the
    others.
    """

    missing: int
    oldest: datetime | None


class UnfinishedWork(Struct, frozen=True, kw_only=True):
    """Unfinished work of an app: a job, or a submission that is not planned yet.

    ``parts`` and ``freshness_scope`` are None if they are not known. Then the work may concern any work IDs.
    """

    app: str
    what: str
    freshness_scope: str | None = None
    parts: Sequence[Part] | None = None
    job: int | None = None
    state: State | None = None


def is_fresh(at: datetime, lag_s_max: float, now: datetime) -> bool:
    """Return whether a result of this time is fresh. An age of exactly ``lag_s_max`` is fresh; with zero, none is."""
    return lag_s_max > 0 and now - at <= timedelta(seconds=lag_s_max)


def mark_of(chunking: Chunking, kwargs: Mapping[str, JSON]) -> str:
    """Return the freshness scope: the kwargs named by ``freshness_by``, as a text. It is empty if none are named.

    Raises ValueError if it is too long.
    """
    if not chunking.freshness_by:
        return ""
    chosen = {name: kwargs.get(name) for name in sorted(chunking.freshness_by)}
    freshness_scope = msgspec.json.encode(chosen, order="sorted").decode()
    if len(freshness_scope) > _MARK_CHARACTERS_MAX:
        raise ValueError(
            f"the kwargs of freshness_by have more than {_MARK_CHARACTERS_MAX} characters in all"
        )
    return freshness_scope
