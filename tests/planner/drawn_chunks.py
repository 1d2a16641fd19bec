"""Definitions of apps keyed by chunk, drawn by Hypothesis, with the requested work IDs and their freshness."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.work_ids import WorkId, parse_work_ids
from sluice.jobs.model.freshness import Age, UnfinishedWork
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.chunks.chunk_plan import Chunked, chunk
from tests.planner.definitions import catalogue_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
#: Minutes since a success; None: never. Most are fresh for most lags. Otherwise no chunk of several IDs would be
#: fresh.
AGES_M = [0, 1, 1, 1, 4, 4, 5, 5, 6, None]
LAGS_M = [0, 1, 5, 60]
IDS: list[WorkId] = [*range(-1, 8), 100, "a", "b", "b7"]


class Drawn(NamedTuple):
    """Drawn apps and work IDs.

    The requested app is ``A0``. Apps depend on apps with higher numbers. ``ages_m`` is the number of minutes since an
    app succeeded on an ID, and ``runs_m`` since a requested run of an app succeeded.
    """

    apps: dict[str, dict[str, Any]]
    ids: tuple[WorkId, ...]
    ages_m: dict[tuple[str, str], int]
    runs_m: dict[str, int]


class Known(NamedTuple):
    """Drawn freshness, as a plan reads it."""

    drawn: Drawn
    now: datetime = NOW

    def ages(self, app: str, freshness_scope: str, chunks: Sequence[Sequence[WorkId]]) -> list[Age]:
        found = [[self.drawn.ages_m.get((app, str(each))) for each in ids] for ids in chunks]
        return [
            Age(ages.count(None), min((ago(age) for age in ages if age is not None), default=None))
            for ages in found
        ]

    def last_run(self, app: str, freshness_scope: str) -> datetime | None:
        return ago(self.drawn.runs_m[app]) if app in self.drawn.runs_m else None

    def look_up(self, names: Collection[JobName]) -> dict[JobName, KnownJob]:
        return {}

    def busy(self, apps: Collection[str]) -> list[UnfinishedWork]:
        return []


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


@st.composite
def drawn_chunks(draw: st.DrawFn, *, always_lag: bool = False) -> Drawn:
    """Draw apps, work IDs and their freshness.

    With ``always_lag`` work that has just succeeded need not run again.
    """
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
    return chunk(loaded(drawn), submission, drawn.ids, Known(drawn))
