"""Compensation of a saga across apps: the jobs that undo it and their order, without a ledger."""

from typing import Any

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.compensation import EarlierCompensation, Effect
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import JobPlan, RequestReason
from sluice.jobs.states import State
from sluice.planner.compensation import lay_out, plan_of
from tests.planner.definitions import catalogue_of

UNDO = {"job_id": "{key}"}


def _catalogue(undone: str, left: str = "", irreversible: str = "") -> Catalogue:
    """Return apps with a compensation ``un…`` each, apps without compensation, and irreversible apps."""
    apps: dict[str, Any] = {name: {"job_id": "{x}_{n}", "compensate": f"un{name}"} for name in undone.split()}
    apps |= {f"un{name}": UNDO for name in undone.split()}
    apps |= {name: {"job_id": "{x}_{n}"} for name in left.split()}
    apps |= {name: {"job_id": "{x}_{n}", "compensate": "irreversible"} for name in irreversible.split()}
    return catalogue_of(apps)


def _effect(id: int, app: str, key: str = "1_1", **kwargs: Any) -> Effect:
    return Effect(id=id, app=app, key=key, claim=3, kwargs=kwargs)


def _needs(plan: JobPlan) -> dict[str, list[str]]:
    """Return job → the jobs that it waits for."""
    return {
        str(job.name): [str(need.parent) for gate in job.gates for need in gate.needs] for job in plan.jobs
    }


def _order(catalogue: Catalogue, apps: str, *ties: tuple[int, int]) -> dict[str, list[str]]:
    effects = [_effect(id, app) for id, app in enumerate(apps.split(), 1)]
    return _needs(plan_of(catalogue, 7, lay_out(catalogue, effects), ties, {}))


def test_each_job_is_undone_after_the_jobs_that_followed_from_it() -> None:
    assert _order(_catalogue("a b c"), "a b c", (1, 2), (2, 3)) == {
        "una/1_1": ["unb/1_1"],
        "unb/1_1": ["unc/1_1"],
        "unc/1_1": [],
    }


def test_a_diamond_is_undone_from_its_end() -> None:
    assert _order(_catalogue("a b c d"), "a b c d", (1, 2), (1, 3), (2, 4), (3, 4)) == {
        "una/1_1": ["unb/1_1", "unc/1_1"],
        "unb/1_1": ["und/1_1"],
        "unc/1_1": ["und/1_1"],
        "und/1_1": [],
    }


def test_the_order_passes_through_jobs_that_have_no_compensation() -> None:
    assert _order(_catalogue("a d", left="b c"), "a b c d", (1, 2), (2, 3), (3, 4)) == {
        "una/1_1": ["und/1_1"],
        "und/1_1": [],
    }


def test_the_order_passes_through_jobs_that_have_no_effect() -> None:
    catalogue = _catalogue("a c", left="b")
    laid_out = lay_out(catalogue, [_effect(1, "a"), _effect(3, "c")])
    assert _needs(plan_of(catalogue, 7, laid_out, [(1, 2), (2, 3)], {}))["una/1_1"] == ["unc/1_1"]


def test_a_fan_out_is_undone_before_its_source() -> None:
    catalogue = _catalogue("a b")
    effects = [_effect(1, "a"), *(_effect(id, "b", f"1_{id}") for id in (2, 3, 10))]
    plan = plan_of(catalogue, 7, lay_out(catalogue, effects), [(1, 2), (1, 3), (1, 10)], {})
    assert _needs(plan)["una/1_1"] == ["unb/1_10", "unb/1_2", "unb/1_3"]


def test_a_succeeded_saga_without_compensation_is_named() -> None:
    flies = {
        "job_type": "saga",
        "function": "tests.jobs.catalogue.faults_of_sagas:steps",
        "job_id": "{x}_{n}",
    }
    catalogue = catalogue_of(
        {
            "a": flies,
            "b": {**flies, "compensate": "unb"},
            "unb": UNDO,
            "c": {**flies, "compensate": "irreversible"},
            "d": {"job_id": "{x}_{n}"},
        }
    )
    laid_out = lay_out(catalogue, [_effect(id, app) for id, app in enumerate("abcd", 1)])
    assert laid_out.undoing == {2: JobName("unb", "1_1")}
    assert laid_out.reason == "irreversible: c/1_1; sagas without compensate: a/1_1"


def test_an_irreversible_job_is_named_and_keeps_the_order() -> None:
    catalogue = _catalogue("a c", irreversible="b")
    laid_out = lay_out(catalogue, [_effect(1, "a"), _effect(2, "b"), _effect(3, "c")])
    assert laid_out.reason == "irreversible: b/1_1"
    assert _needs(plan_of(catalogue, 7, laid_out, [(1, 2), (2, 3)], {}))["una/1_1"] == ["unc/1_1"]


def test_many_irreversible_jobs_are_counted() -> None:
    effects = [_effect(id, "b", f"1_{id}") for id in range(1, 8)]
    said = lay_out(_catalogue("", irreversible="b"), effects).reason
    assert said == "irreversible: b/1_1, b/1_2, b/1_3, b/1_4, b/1_5 and 2 more"


def test_an_undefined_app_is_named() -> None:
    assert lay_out(_catalogue("a"), [_effect(1, "gone")]).reason == "not in the definitions: gone/1_1"


def test_a_compensation_has_the_identifiers_of_the_job_that_it_undoes() -> None:
    apps = {"a": {"job_id": "{x}_{n}", "compensate": "una"}, "una": {"job_id": "{n}_{x}"}}
    laid_out = lay_out(catalogue_of(apps), [_effect(1, "a", "u_5")])
    assert laid_out.undoing == {1: JobName("una", "5_u")}


def test_the_compensation_of_a_chunk_has_the_key_of_the_chunk() -> None:
    apps = {"a": {"chunk_size": 2, "compensate": "una"}, "una": UNDO}
    assert lay_out(catalogue_of(apps), [_effect(1, "a", "1-2@9")]).undoing == {1: JobName("una", "1-2@9")}


def test_a_compensation_of_an_earlier_run_runs_again_and_one_under_way_does_not() -> None:
    catalogue = _catalogue("a b")
    laid_out = lay_out(catalogue, [_effect(1, "a", amount=7), _effect(2, "b")])
    earlier = {
        JobName("una", "1_1"): EarlierCompensation(id=11, state=State.SUCCEEDED, undoes_claim=1),
        JobName("unb", "1_1"): EarlierCompensation(id=12, state=State.RUNNING, undoes_claim=3),
    }
    plan = plan_of(catalogue, 7, laid_out, [(1, 2)], earlier)
    assert [rerun.names for rerun in plan.reruns] == [(JobName("una", "1_1"),)]
    assert {job.name.app: job.digest for job in plan.jobs} == {"una": "compensation 7", "unb": None}
    assert {job.name.app: job.kwargs for job in plan.jobs} == {"una": {"amount": 7}, "unb": {}}
    assert {request_reason for _, _, request_reason in plan.requests} == {RequestReason.ASKED}
