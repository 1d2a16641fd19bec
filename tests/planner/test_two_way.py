"""Dependencies that are determined by a two-way function."""

from typing import Any
from unittest.mock import patch

import pytest

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from tests.planner.definitions import catalogue_of, children, jobs, parents, previewed
from tests.world import World

_DATE = {"job_id": "{date}", "identifiers": {"date": "date"}}


def _by(function: str, **words: object) -> dict[str, object]:
    return {"_func": f"tests.planner.two_ways:{function}", **words}


def _weeks(**words: object) -> dict[str, Any]:
    return {
        "day": {"job_id": "{date}_{shop}", "identifiers": {"date": "date"}},
        "week": {"job_id": "{week}_{shop}", "depends_on": _by("Weeks", **words)},
    }


def _one(function: str) -> Catalogue:
    return catalogue_of({"p": _DATE, "c": {**_DATE, "depends_on": _by(function, app_name=["p"])}})


@pytest.mark.parametrize("words", [{"app_name": ["day"]}, {}], ids=["of a named app", "of any app"])
def test_child_and_parents_may_be_keyed_in_different_ways(words: dict[str, object]) -> None:
    catalogue = catalogue_of(_weeks(**words))
    days = ["20251229", "20251230", "20251231", *(f"2026010{day}" for day in range(1, 5))]
    week = JobName("week", "2026-W01_oslo")
    assert parents(catalogue, week) == {"default": [JobName("day", f"{day}_oslo") for day in days]}
    assert [children(catalogue, JobName("day", f"{day}_oslo")) for day in days] == [[week]] * 7
    assert children(catalogue, week) == []


def test_a_function_works_beside_other_parents_and_in_alternatives() -> None:
    catalogue = catalogue_of(
        {
            **_weeks(app_name=["day"]),
            "shop": {"job_id": "{shop}"},
            "week": {
                "job_id": "{week}_{shop}",
                "autofill_values": {"week": ["2026-W01", "2026-W02"]},
                "depends_on": {
                    "computed": [_by("Weeks", app_name=["day"]), {"app_name": ["shop"]}],
                    "bought": {"app_name": ["shop"]},
                },
            },
        }
    )
    named = parents(catalogue, JobName("week", "2026-W01_oslo"))
    assert [len(group) for group in named.values()] == [8, 1]
    assert children(catalogue, JobName("shop", "oslo")) == jobs("week/{2026-W01,2026-W02}_oslo")
    assert children(catalogue, JobName("day", "20260101_oslo")) == jobs("week/2026-W01_oslo")
    assert children(catalogue, JobName("day", "20260301_oslo")) == [], "no such week among the values"


def test_an_app_may_need_itself_by_another_key() -> None:
    catalogue = catalogue_of({"run": {**_DATE, "depends_on": _by("Yesterday", app_name=["run"])}})
    assert parents(catalogue, JobName("run", "20260103")) == {"default": jobs("run/20260102")}
    assert parents(catalogue, JobName("run", "20260101")) == {"default": []}
    assert children(catalogue, JobName("run", "20260109")) == jobs("run/20260110")
    pulled = previewed(catalogue, Submission(app="run", key="20260104"))
    assert sorted(job.name for job in pulled.jobs) == jobs("run/2026010{1,2,3,4}")


def test_a_plan_lists_parents_first_regardless_of_their_keys() -> None:
    catalogue = catalogue_of({"n": {"job_id": "{x}", "depends_on": _by("Down")}})
    pulled = previewed(catalogue, Submission(app="n", key="1"))
    assert [job.name.key for job in pulled.jobs] == ["3", "2", "1"]


def test_a_function_without_children_is_used_only_for_pulling() -> None:
    catalogue = _one("PullOnly")
    assert parents(catalogue, JobName("c", "20260101")) == {"default": jobs("p/20260101")}
    assert children(catalogue, JobName("p", "20260101")) == []


def test_a_function_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"Contradiction, called for p .* named the child c/20260101"):
        children(_one("Contradiction"), JobName("p", "20260101"))


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("raising", r"raised ZeroDivisionError in parents: by zero"),
        ("naming_a_stranger", r"named a parent of app 'stranger', which is none of p"),
        ("naming_a_bad_key", r"named p {'date': 'soon'}: 'soon' is not a key of p"),
        ("naming_too_little", r"named p {}: p needs 'date'"),
        ("answering_words", r"returned 'p' in parents; it has to be a pair"),
        ("answering_nothing", r"raised TypeError in parents"),
    ],
)
def test_an_invalid_answer_of_a_function_is_reported_with_its_job(function: str, what: str) -> None:
    with pytest.raises(BadRequest, match=rf"two_ways:{function}, called for c \(date=20260101\), {what}"):
        parents(_one(function), JobName("c", "20260101"))


def test_an_endless_answer_is_refused() -> None:
    with (
        patch("sluice.jobs.model.dependency.NEIGHBOURS_MAX", 1000),
        pytest.raises(BadRequest, match=r"Endless, called for c .* named more than 1,000 jobs in parents"),
    ):
        parents(_one("Endless"), JobName("c", "20260101"))


def test_a_job_that_would_wait_for_itself_is_refused_with_the_path() -> None:
    catalogue = catalogue_of({"r": {"job_id": "{x}", "depends_on": _by("Ring")}})
    with pytest.raises(BadRequest, match="wait for itself: r/1 -> r/3 -> r/2 -> r/1"):
        previewed(catalogue, Submission(app="r", key="2"))


def test_a_chain_over_days_is_pulled_and_pushed(world: World) -> None:
    world.define(
        {
            "run": {**_DATE, "depends_on": _by("Yesterday", app_name=["run"])},
            "note": {**_DATE, "depends_on": {"app_name": ["run"]}},
        }
    )
    world.submit("note", "20260103", push="wanted")
    for day in ("20260101", "20260102", "20260103"):
        assert world.ready() == {f"run/{day}"}
        world.finish(f"run/{day}")
    assert world.ready() == {"note/20260103"}
    world.submit("run", "20260109")
    for day in range(4, 11):
        world.finish(f"run/202601{day:02}")
    assert world.state("note/20260110") is State.READY, "the tenth and its note were pushed by the ninth"
    assert "run/20260111" not in world.states()


def test_a_failing_function_refuses_only_its_own_submission(world: World) -> None:
    words = {**_DATE, "depends_on": _by("raising", app_name=["p"])}
    world.define({"p": _DATE, "c": words, "fine": {**_DATE, "depends_on": {"app_name": ["p"]}}})
    refused, fine = world.submit("c", "20260101"), world.submit("fine", "20260101")
    assert "ZeroDivisionError" in world.reason(refused)
    world.finish("p/20260101")
    assert world.ready() == {"fine/20260101"}
    assert world.reason(fine) == ""


def test_a_failing_function_does_not_prevent_the_push_of_other_children(world: World) -> None:
    world.define(
        {
            "p": _DATE,
            "c": {**_DATE, "depends_on": _by("Blind")},
            "d": {**_DATE, "depends_on": {"app_name": ["p"]}},
        }
    )
    world.submit("p", "20260101")
    world.finish("p/20260101")
    assert world.ready() == {"d/20260101"}
