"""How fresh the results of an app are, work ID by work ID."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sluice.jobs.chunking import Chunking
from sluice.jobs.states import State
from sluice.jobs.submission import JSON
from sluice.jobs.work_ids import Part

#: The mark is part of a key in the ledger, and may not outgrow its pages.
_MARK_CHARACTERS_MAX = 500


class Age(NamedTuple):
    """Of some work IDs: on how many of them the app has never succeeded, and when it did on the others, the
    longest ago."""

    missing: int
    oldest: datetime | None


class Busy(Struct, frozen=True, kw_only=True):
    """Work on an app that is yet to end: a job, or a submission that nobody has planned.

    ``parts`` and ``mark`` are None where they are not known: it may be about any work IDs.
    """

    app: str
    what: str
    mark: str | None = None
    parts: Sequence[Part] | None = None
    job: int | None = None
    state: State | None = None


def is_fresh(at: datetime, lag_s_max: float, now: datetime) -> bool:
    """Just as old as is allowed is fresh; of what may not be old at all nothing is."""
    return lag_s_max > 0 and now - at <= timedelta(seconds=lag_s_max)


def mark_of(chunking: Chunking, kwargs: Mapping[str, JSON]) -> str:
    """The kwargs that are part of what is fresh, as a text; empty where none are. ValueError where it is too long."""
    if not chunking.freshness_by:
        return ""
    chosen = {name: kwargs.get(name) for name in sorted(chunking.freshness_by)}
    mark = msgspec.json.encode(chosen, order="sorted").decode()
    if len(mark) > _MARK_CHARACTERS_MAX:
        raise ValueError(f"the kwargs of freshness_by come to more than {_MARK_CHARACTERS_MAX} characters")
    return mark
