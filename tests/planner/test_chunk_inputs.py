"""Apps keyed by chunk that need jobs with keys, by a two-way function."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import WorkId, in_order, parse_work_ids
from sluice.jobs.model.freshness import UnfinishedWork
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState, KnownJob, PlannedJob
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import LIVE, TERMINAL, State
from sluice.planner.keyspaces.chunks.chunk_inputs import related_work_ids
from sluice.planner.keyspaces.chunks.chunk_plan import chunk
from sluice.planner.preview.preview import preview_chunks
from tests.planner.definitions import NOW, catalogue_of, children, jobs, previewed
from tests.planner.drawn_chunks import Drawn, Known
from tests.planner.two_ways import DrawnPairs

_SUBMISSION = Submission(app="score", id="drawn")
_KEYS = ("graz", "oslo", "rome")
_IDS: tuple[WorkId, ...] = (1, 2, 3, 7, "a", "b")
_PAIRS = [(work_id, key) for work_id in _IDS for key in _KEYS]
#: States of a job that a submission does not request again.
_OVER = TERMINAL - {State.CANCELLED}


def _apps(function: str = "Shops", **words: object) -> dict[str, Any]:
    return {
        "source": {"job_id": "{shop}"},
        "fetch": {"job_id": "{shop}", "depends_on": {"app_name": ["source"]}},
        "score": {"chunk_size": 2, "depends_on": _by(function, **words)},
    }


def _by(function: str, **words: object) -> dict[str, object]:
    return {"_func": f"tests.planner.two_ways:{function}", "app_name": ["fetch"], **words}


class Planned(NamedTuple):
    """Jobs of a plan, with the jobs that run again because of their age."""

    jobs: dict[JobName, PlannedJob]
    stale: set[JobName]

    def needs(self, work_id: WorkId) -> set[str]:
        """Return the keys of ``fetch`` that the chunk with this work ID needs."""
        (job,) = (job for job in self.jobs.values() if work_id in (job.work_ids or ()))
        return {need.parent.key for gate in job.gates for need in gate.needs if need.parent.app == "fetch"}

    @property
    def runs(self) -> set[str]:
        """Jobs with keys that the submission requests."""
        return {
            str(name)
            for name, job in self.jobs.items()
            if job.work_ids is None and job.standing is EntryState.WANTED
        }


def _planned(
    catalogue: Catalogue, ids: object, states: Mapping[JobName, State] | None = None, *, minutes: int = 0
) -> Planned:
    """Plan these work IDs if jobs have been in these states for some minutes."""
    since = NOW - timedelta(minutes=minutes)
    known = {name: KnownJob(1, *name, state, since) for name, state in (states or {}).items()}
    work_ids = parse_work_ids(ids)  # type: ignore[arg-type] # a list of IDs, or their text
    found = chunk(catalogue, _SUBMISSION, work_ids, Known(Drawn({}, (), {}, {})))
    whole = preview_chunks(
        catalogue,
        _SUBMISSION,
        lambda names: {name: known[name] for name in names if name in known},
        NOW,
        found,
    )
    planned = whole.jobs if whole else found.jobs
    return Planned({job.name: job for job in planned}, {*(whole.stale if whole else ())})


def test_a_chunk_needs_the_jobs_of_all_its_work_ids_and_pulls_what_is_missing() -> None:
    planned = _planned(catalogue_of(_apps()), "1,3,5-8")
    assert [planned.needs(work_id) for work_id in (1, 5, 7)] == [{"oslo"}, {"oslo", "graz"}, {"oslo", "graz"}]
    assert planned.runs == {"fetch/graz", "fetch/oslo", "source/graz", "source/oslo"}
    assert [*planned.jobs] == sorted(
        planned.jobs, key=lambda name: ["source", "fetch", "score"].index(name.app)
    )


def test_an_existing_success_is_needed_and_not_requested() -> None:
    (fetched,) = jobs("fetch/oslo")
    planned = _planned(catalogue_of(_apps()), "1,3", {fetched: State.SUCCEEDED})
    assert planned.needs(1) == {"oslo"}
    assert planned.runs == set()


def test_an_input_that_is_too_old_runs_again() -> None:
    catalogue = catalogue_of(_apps(max_lag="1h"))
    (fetched,) = jobs("fetch/oslo")
    assert _planned(catalogue, "1", {fetched: State.SUCCEEDED}, minutes=60).stale == set()
    assert _planned(catalogue, "1", {fetched: State.SUCCEEDED}, minutes=61).stale == {fetched}


def test_a_needed_chunk_pulls_jobs_only_if_it_runs() -> None:
    apps = {
        **_apps(),
        "report": {"chunk_size": 4, "dependencies": [{"job_type": "score", "max_lag": "1h"}]},
    }
    catalogue = catalogue_of(apps)
    report = Submission(app="report", id="drawn")
    for ages_m, needs_keys in (({}, True), ({("score", str(each)): 5 for each in range(1, 5)}, False)):
        found = chunk(catalogue, report, (1, 2, 3, 4), Known(Drawn({}, (), ages_m, {})))
        assert found.needs_keys is needs_keys
        whole = preview_chunks(catalogue, report, lambda names: {}, NOW, found)
        assert bool(whole) is needs_keys


def test_no_function_is_called_for_a_submission_that_waits_to_be_planned() -> None:
    class BusyElsewhere(Known):
        def busy(self, apps: Collection[str]) -> list[UnfinishedWork]:
            return [UnfinishedWork(app="score", what="score/1", parts=[(1,)], job=1, state=State.RUNNING)]

    apps = {
        **_apps("raising"),
        "report": {"chunk_size": 4, "dependencies": [{"job_type": "score", "max_lag": "1h"}]},
    }
    report = Submission(app="report", id="drawn")
    found = chunk(catalogue_of(apps), report, (1, 2), BusyElsewhere(Drawn({}, (), {}, {})))
    assert [busy.what for busy in found.waits_for] == ["score/1"]
    assert not found.needs_keys


def test_a_submission_that_names_its_dependencies_pulls_no_others() -> None:
    (other,) = jobs("source/rome")

    class KnowingOne(NamedTuple):
        known: Known

        def __getattr__(self, name: str) -> Any:
            return getattr(self.known, name)

        def look_up(self, names: object) -> dict[JobName, KnownJob]:
            return {other: KnownJob(1, *other, State.READY)}

    submission = Submission(app="score", id="drawn", after=(other,))
    knowledge: Any = KnowingOne(Known(Drawn({}, (), {}, {})))
    found = chunk(catalogue_of(_apps()), submission, (1,), knowledge)
    assert not found.needs_keys
    assert [need.parent for job in found.jobs for gate in job.gates for need in gate.needs] == [other]


def test_the_end_of_a_job_with_a_key_names_work_ids_and_no_children() -> None:
    catalogue = catalogue_of(_apps())
    (fetched,) = jobs("fetch/graz")
    assert children(catalogue, fetched) == []
    ((app, ids),) = related_work_ids(catalogue, fetched)
    assert (app, ids[:5]) == ("score", (2, 4, 6, 7, 8))
    assert catalogue.children_of("fetch") == ("score",)


def test_a_template_is_planned_as_without_the_chunks_that_need_it() -> None:
    assert len(previewed(catalogue_of(_apps()), Submission(app="fetch", key="oslo")).jobs) == 2


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("raising", r"called for score \(work_id=1\), raised ZeroDivisionError in parents: by zero"),
        ("naming_a_stranger", r"named a parent of app 'stranger', which is none of fetch"),
        ("naming_too_little", r"named a parent of app 'p'"),
        ("answering_words", r"returned 'p' in parents; it has to be a pair"),
        (
            "naming_a_chunk",
            r"called for fetch \(shop=oslo\), named children that cannot be used: score '1-3@7'; it is keyed",
        ),
        ("naming_several_ids", r"cannot be used: score {'work_id': \[1, 3\]}; it is keyed by chunk, so name"),
        ("naming_no_id", r"named children that cannot be used: True is no work ID"),
        ("naming_another_id", r"did not name score with work_id 1, which named this job as a parent"),
    ],
)
def test_an_invalid_answer_refuses_the_submission(function: str, what: str) -> None:
    with pytest.raises(BadRequest, match=what):
        _planned(catalogue_of(_apps(function)), "1")


def test_a_submission_may_name_a_limited_number_of_parents() -> None:
    with (
        patch("sluice.planner.keyspaces.chunks.chunk_inputs.PAIRS_MAX", 7),
        pytest.raises(BadRequest, match="name more than 7 parents in all"),
    ):
        _planned(catalogue_of(_apps()), "1-7")


@st.composite
def _drawn_apps(draw: st.DrawFn) -> dict[str, Any]:
    return _apps("DrawnPairs", app_name=["fetch"]) | {
        "score": {"chunk_size": draw(st.integers(1, 4)), "depends_on": _by("DrawnPairs")}
    }


@given(_drawn_apps(), st.sets(st.sampled_from(_PAIRS)), st.sets(st.sampled_from(_IDS), min_size=1))
def test_parents_and_children_are_one_relation(
    apps: dict[str, Any], pairs: set[tuple[WorkId, str]], ids: set[WorkId]
) -> None:
    catalogue = catalogue_of(apps)
    with patch.object(DrawnPairs, "pairs", pairs):
        planned = _planned(catalogue, [*ids])
        for job in planned.jobs.values():
            by_definition = {key for work_id, key in pairs if work_id in (job.work_ids or ())}
            assert job.work_ids is None or planned.needs(job.work_ids[0]) == by_definition
        for key in _KEYS:
            needing = tuple(sorted((work_id for work_id, other in pairs if other == key), key=in_order))
            named = dict(related_work_ids(catalogue, JobName("fetch", key)))
            assert named == ({"score": needing} if needing else {})


@given(
    st.sets(st.sampled_from(_PAIRS)),
    st.dictionaries(st.sampled_from(jobs("{fetch,source}/{graz,oslo,rome}")), st.sampled_from([*State])),
)
def test_a_plan_is_closed(pairs: set[tuple[WorkId, str]], states: dict[JobName, State]) -> None:
    """Everything that a job of the plan waits for is requested too, or it exists and is over."""
    states = {name: state for name, state in states.items() if state is not State.SPLIT}
    with patch.object(DrawnPairs, "pairs", pairs):
        planned = _planned(catalogue_of(_apps("DrawnPairs")), [*_IDS], states)
    for job in planned.jobs.values():
        for need in (need for gate in job.gates for need in gate.needs):
            parent = planned.jobs[need.parent]
            assert parent.standing is EntryState.WANTED or states[need.parent] in _OVER
    wanted = {name for name, job in planned.jobs.items() if job.standing is EntryState.WANTED}
    assert all(states.get(name, State.EXPECTED) in LIVE | {State.CANCELLED} for name in wanted)


@given(st.data(), st.sets(st.sampled_from(_PAIRS), min_size=1))
def test_a_contradiction_on_planned_work_ids_is_refused(
    data: st.DataObject, pairs: set[tuple[WorkId, str]]
) -> None:
    hidden = data.draw(st.sampled_from(sorted(pairs, key=str)))
    catalogue = catalogue_of(_apps("DrawnPairs"))
    with patch.object(DrawnPairs, "pairs", pairs), patch.object(DrawnPairs, "hidden", [hidden]):
        with pytest.raises(BadRequest, match=f"called for fetch .shop={hidden[1]}., did not name score"):
            _planned(catalogue, [hidden[0]])
        others = {work_id for work_id, _ in pairs} - {hidden[0]}
        assert not others or _planned(catalogue, [*others])
