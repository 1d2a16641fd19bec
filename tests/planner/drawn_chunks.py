"""Definitions of work by chunk that Hypothesis draws, with the work IDs that are asked for and what is fresh."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.freshness import Age, Busy
from sluice.jobs.submission import Submission
from sluice.jobs.work_ids import WorkId, parse_work_ids
from sluice.planner.chunks import Chunked, chunk
from tests.planner.definitions import catalogue_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
#: None is for never. Most are fresh enough for most, or no chunk of several IDs would ever be.
AGES_M = [0, 1, 1, 1, 4, 4, 5, 5, 6, None]
LAGS_M = [0, 1, 5, 60]
IDS: list[WorkId] = [*range(-1, 8), 100, "a", "b", "b7"]


class Drawn(NamedTuple):
    """``ages_m`` tells how many minutes ago an app succeeded on an ID, ``runs_m`` when it did that was asked for by
    name. The asked app is ``A0``; apps depend on those of higher numbers."""

    apps: dict[str, dict[str, Any]]
    ids: tuple[WorkId, ...]
    ages_m: dict[tuple[str, str], int]
    runs_m: dict[str, int]


class Known(NamedTuple):
    """What a plan asks for, by what was drawn."""

    drawn: Drawn
    now: datetime = NOW

    def ages(self, app: str, mark: str, chunks: Sequence[Sequence[WorkId]]) -> list[Age]:
        found = [[self.drawn.ages_m.get((app, str(each))) for each in ids] for ids in chunks]
        return [
            Age(ages.count(None), min((ago(age) for age in ages if age is not None), default=None))
            for ages in found
        ]

    def last_run(self, app: str, mark: str) -> datetime | None:
        return ago(self.drawn.runs_m[app]) if app in self.drawn.runs_m else None

    def busy(self, apps: Collection[str]) -> list[Busy]:
        return []


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


@st.composite
def drawn_chunks(draw: st.DrawFn, *, always_lag: bool = False) -> Drawn:
    """With ``always_lag`` nothing has to run though it has just run."""
    names = [f"A{place}" for place in range(draw(st.sampled_from([3, 4, 5, 2, 1])))]
    lags = st.sampled_from(LAGS_M[always_lag:])
    apps = {}
    for place, name in enumerate(names):
        below = draw(st.permutations(names[place + 1 :]))[: draw(st.sampled_from([1, 2, 3, 0]))]
        apps[name] = {
            "chunk_size": draw(st.integers(1, 5)),
            "dependencies": [draw(_dependency(app, lags)) for app in below],
        }
    ids = parse_work_ids(draw(st.permutations(IDS))[: draw(st.integers(1, 9))])
    known = [(name, str(each)) for name in names for each in ids]
    ages = draw(st.lists(st.sampled_from(AGES_M), min_size=len(known), max_size=len(known)))
    ages_m = {name: age for name, age in zip(known, ages, strict=True) if age is not None}
    runs_m = draw(st.dictionaries(st.sampled_from(names), st.integers(0, 60), max_size=2))
    return Drawn(apps, ids, ages_m, runs_m)


@st.composite
def _dependency(draw: st.DrawFn, app: str, lags: st.SearchStrategy[int]) -> dict[str, Any]:
    few = st.sampled_from([False, False, True])
    return {
        "job_type": app,
        "max_lag": draw(lags),
        "unique": draw(few),
        "allow_missing_work_ids": draw(few),
        "custom_kwargs": {"x": draw(st.integers(0, 1))} if draw(few) else {},
    }


def loaded(drawn: Drawn) -> Catalogue:
    return catalogue_of(drawn.apps)


def planned(drawn: Drawn) -> Chunked:
    submission = Submission(app="A0", id="drawn")
    return chunk(loaded(drawn), submission, drawn.ids, {}, Known(drawn))
