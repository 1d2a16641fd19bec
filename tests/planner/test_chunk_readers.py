"""Jobs with keys that need chunks, by a two-way function: plans, previews, pushes and refusals."""

from collections.abc import Collection, Mapping
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import WorkId, in_order
from sluice.jobs.model.freshness import UnfinishedWork
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, PlannedJob
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.planner.keyspaces.chunks.chunk_plan import chunk
from sluice.planner.keyspaces.chunks.chunk_readers import WorkIdRelation
from sluice.planner.preview.forecast import Forecast
from sluice.planner.preview.pushes import chunks_with_pushed
from sluice.planner.preview.table_preview import TablePreview, preview_tables
from tests.planner.definitions import catalogue_of, jobs
from tests.planner.drawn_chunks import Drawn, Known
from tests.planner.no_partitions import NoPartitions
from tests.planner.two_ways import DrawnNeeds

_KEYS = ("graz", "oslo", "rome")
_IDS: tuple[WorkId, ...] = (1, 2, 3, 7, "a", "b")
_PAIRS = [(key, work_id) for key in _KEYS for work_id in _IDS]
_NOTHING = Drawn({}, (), {}, {})
_PAIRS_DRAWN = st.sets(st.sampled_from(_PAIRS))
_AGES_DRAWN = st.dictionaries(
    st.tuples(st.just("score"), st.sampled_from([str(each) for each in _IDS])), st.sampled_from([10, 59, 61])
)


def _by(function: str = "DrawnNeeds", **words: object) -> dict[str, object]:
    return {"_func": f"tests.planner.two_ways:{function}", "app_name": ["score"], **words}


def _apps(function: str = "DrawnNeeds", *, chunk_size: int = 2, **words: object) -> dict[str, Any]:
    return {
        "score": {"chunk_size": chunk_size},
        "report": {
            "job_id": "{shop}",
            "autofill_values": {"shop": [*_KEYS]},
            "depends_on": _by(function, **words),
        },
        "mail": {"job_id": "{shop}", "depends_on": {"app_name": ["report"]}},
    }


def _planned(catalogue: Catalogue, known: Known, app: str = "report", **words: Any) -> TablePreview:
    submission = Submission(app=app, id="drawn", **({"keys": _KEYS} | words))
    return preview_tables(catalogue, submission, NoPartitions(), lambda names: {}, known)


def _jobs(found: TablePreview) -> Mapping[JobName, PlannedJob]:
    assert found.keyed
    return {job.name: job for job in found.keyed.jobs}


def _needed_ids(found: TablePreview, name: JobName) -> set[WorkId]:
    """Return the work IDs of the chunks that a job needs."""
    planned = _jobs(found)
    needs = [need for gate in planned[name].gates for need in gate.needs]
    return {work_id for need in needs for work_id in planned[need.parent].work_ids or ()}


def _ids_of_chunks(found: TablePreview) -> list[WorkId]:
    return [work_id for job in _jobs(found).values() for work_id in job.work_ids or ()]


@given(_PAIRS_DRAWN)
def test_parents_and_children_are_one_relation(pairs: set[tuple[str, WorkId]]) -> None:
    catalogue = catalogue_of(_apps())
    with patch.object(DrawnNeeds, "pairs", pairs):
        for name in jobs("report/{graz,oslo,rome}"):
            named = WorkIdRelation(catalogue).needed(name)
            assert {each for of in named.values() for each in of.work_ids} == {
                work_id for key, work_id in pairs if key == name.key
            }
        for work_id in _IDS:
            children = WorkIdRelation(catalogue).children(catalogue["score"], [work_id])
            assert [child.key for child in children] == sorted(key for key, of in pairs if of == work_id)


@given(_PAIRS_DRAWN, _AGES_DRAWN, st.integers(1, 4), st.sampled_from([None, "1h"]))
def test_a_plan_has_the_chunks_that_are_missing_and_no_others(
    pairs: set[tuple[str, WorkId]], ages_m: dict[tuple[str, str], int], chunk_size: int, lag: str | None
) -> None:
    words = {"max_lag": lag} if lag else {}
    catalogue = catalogue_of(_apps(chunk_size=chunk_size, **words))
    with patch.object(DrawnNeeds, "pairs", pairs):
        found = _planned(catalogue, Known(_NOTHING._replace(ages_m=ages_m)))
    fresh = {work_id for work_id in _IDS if ages_m.get(("score", str(work_id)), 999) <= (60 if lag else 61)}
    missing = {work_id for _, work_id in pairs} - fresh
    planned = _ids_of_chunks(found)
    assert sorted(planned, key=in_order) == sorted(missing, key=in_order), "each once"
    for name in jobs("report/{graz,oslo,rome}"):
        lacking = {work_id for key, work_id in pairs if key == name.key} & missing
        assert lacking <= _needed_ids(found, name)
        assert bool(lacking) == bool(_needed_ids(found, name)), "no job waits without a reason"


@given(_PAIRS_DRAWN, _AGES_DRAWN, st.sets(st.sampled_from(_IDS), min_size=1), st.integers(1, 4))
def test_pushed_jobs_are_those_that_have_all_results_then(
    pairs: set[tuple[str, WorkId]], ages_m: dict[tuple[str, str], int], ids: set[WorkId], chunk_size: int
) -> None:
    catalogue = catalogue_of(_apps(chunk_size=chunk_size))
    known = Known(_NOTHING._replace(ages_m=ages_m))
    submission = Submission(app="score", id="drawn")
    with patch.object(DrawnNeeds, "pairs", pairs):
        chunked = chunk(catalogue, submission, sorted(ids, key=in_order), known)
        whole = chunks_with_pushed(catalogue, submission, chunked, lambda names: {}, known)
    assert whole
    having = {work_id for work_id in _IDS if work_id in ids or ("score", str(work_id)) in ages_m}
    needed = {key: {work_id for of, work_id in pairs if of == key} for key in _KEYS}
    ready = {key for key, of in needed.items() if of & ids and of <= having}
    assert {str(name) for name in whole.pushed} == {
        f"{app}/{key}" for key in ready for app in ("report", "mail")
    }


def test_jobs_downstream_pull_the_chunks_too() -> None:
    found = _planned(catalogue_of(_apps("Scores")), Known(_NOTHING), "mail", keys=("oslo", "graz"))
    assert _requested(found) == [
        "score/1-2",
        "score/3-4",
        "report/graz",
        "report/oslo",
        "mail/graz",
        "mail/oslo",
    ]


def _requested(found: TablePreview) -> list[str]:
    """Return the jobs that run, without the pushed ones."""
    assert found.keyed
    jobs, outlook = found.keyed.jobs, found.keyed.outlook
    pushed = found.keyed.pushed
    return [
        str(job.name) for job in jobs if outlook[job.name].fate is Forecast.NEW and job.name not in pushed
    ]


def test_chunks_of_a_needed_app_pull_their_own_dependencies() -> None:
    apps = _apps("Scores") | {"base": {"chunk_size": 4}}
    apps["score"]["dependencies"] = [{"job_type": "base", "max_lag": "1h"}]
    found = _planned(
        catalogue_of(apps), Known(_NOTHING._replace(ages_m={("base", "2"): 5, ("base", "4"): 5}))
    )
    planned = _jobs(found)
    assert [str(name) for name in planned if name.app == "base"] == ["base/1-4"]
    found = _planned(
        catalogue_of(apps),
        Known(_NOTHING._replace(ages_m={("base", "2"): 5, ("base", "4"): 5})),
        keys=("graz",),
    )
    assert _requested(found) == ["score/2,4", "report/graz"]
    assert [fresh.work_ids for fresh in found.fresh] == [(2, 4)]


def test_a_submission_waits_for_work_on_the_same_work_ids() -> None:
    class BusyElsewhere(Known):
        def busy(self, apps: Collection[str]) -> list[UnfinishedWork]:
            assert apps == {"score"}
            return [UnfinishedWork(app="score", what="score/3", parts=[(3,)], job=1, state=State.RUNNING)]

    known = BusyElsewhere(_NOTHING)
    catalogue = catalogue_of(_apps("Scores"))
    assert [busy.what for busy in _planned(catalogue, known, keys=("rome",)).waits_for] == ["score/3"]
    assert not _planned(catalogue, known, keys=("graz",)).waits_for


def test_two_apps_may_need_chunks_that_share_an_app() -> None:
    """Chunks of one app for different children have different names."""
    apps = _apps("Scores") | {"base": {"chunk_size": 4}, "rank": {"chunk_size": 4}}
    for name in ("score", "rank"):
        apps[name]["dependencies"] = [{"job_type": "base", "max_lag": "1h"}]
    ranks = {"_func": "tests.planner.two_ways:Ranks", "app_name": ["rank"]}
    apps["report"]["depends_on"] = {"all": [_by("Scores"), ranks]}
    found = _planned(catalogue_of(apps), Known(_NOTHING), keys=("graz",))
    assert [str(name) for name in _jobs(found) if name.app == "base"] == ["base/2,4", "base/2,4.2"]
    assert _jobs(found)[JobName("report", "graz")].standing is EntryState.WANTED


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("raising", r"called for report \(shop=graz\), raised ZeroDivisionError in parents: by zero"),
        ("naming_a_stranger", r"named a parent of app 'stranger', which is none of score"),
        (
            "naming_a_score_chunk",
            r"\(shop=graz\), named parents that cannot be used: score '1-3@7'; it is keyed",
        ),
        ("naming_a_score_of_nothing", r"named parents that cannot be used: True is no work ID"),
    ],
)
def test_an_invalid_answer_refuses_the_submission(function: str, what: str) -> None:
    with pytest.raises(BadRequest, match=what):
        _planned(catalogue_of(_apps(function)), Known(_NOTHING))


def test_a_contradiction_is_refused() -> None:
    catalogue = catalogue_of(_apps())
    pairs: list[tuple[str, WorkId]] = [("graz", 1)]
    with (
        patch.object(DrawnNeeds, "pairs", pairs),
        patch.object(DrawnNeeds, "hidden", pairs),
        pytest.raises(
            BadRequest, match=r"for score \(work_id=1\), did not name report/graz, which named this"
        ),
    ):
        _planned(catalogue, Known(_NOTHING))
    with (
        patch.object(DrawnNeeds, "invented", pairs),
        pytest.raises(
            BadRequest, match="named the child report/graz, but does not name this work ID as a par"
        ),
    ):
        WorkIdRelation(catalogue).children(catalogue["score"], [1])
