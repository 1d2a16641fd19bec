"""Previews of submissions, also if alternatives are lost on the way."""

from collections.abc import Mapping
from typing import Literal

import pytest

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.planner.preview.forecast import Forecast
from tests.planner.definitions import catalogue_of, previewed

_APPS = {
    "x": {"job_id": "{n}"},
    "b": {"job_id": "{n}"},
    "c": {"job_id": "{n}", "depends_on": {"app_name": ["x"]}},
    "f": {"job_id": "{n}", "depends_on": {"one": {"app_name": ["c"]}, "other": {"app_name": ["b"]}}},
    "g": {"job_id": "{n}", "depends_on": {"app_name": ["f"]}},
    "log": {"job_id": "{n}", "depends_on": {"app_name": ["x"], "when": "finished"}},
    "repair": {"job_id": "{n}", "depends_on": {"app_name": ["x"], "when": "failed"}},
    "odd": {"job_id": "{n}", "valid_if_or": {"n": ["3"]}},
    "sum": {"job_id": "{n}", "depends_on": {"app_name": ["odd"]}},
}


def _previewed(
    app: str, known: Mapping[str, State], rerun: Literal["job"] | None = None
) -> dict[str, Forecast]:
    """Return app → fate of the jobs with key 1."""
    states = {JobName(name, "1"): state for name, state in known.items()}
    found = previewed(catalogue_of(_APPS), Submission(app=app, key="1", rerun=rerun), states)
    return {job.name.app: found.outlook[job.name].fate for job in found.jobs}


def test_the_next_alternative_is_requested_if_the_first_would_fail_upstream() -> None:
    fates = _previewed("g", {"x": State.FAILED})
    assert fates == {
        "x": Forecast.NAMED,
        "c": Forecast.LOST,
        "b": Forecast.NEW,
        "f": Forecast.NEW,
        "g": Forecast.NEW,
    }


def test_if_every_alternative_is_lost_no_dependent_job_would_run() -> None:
    fates = _previewed("g", {"x": State.FAILED, "b": State.FAILED})
    assert (fates["f"], fates["g"]) == (Forecast.LOST, Forecast.LOST)


def test_an_alternative_that_is_not_needed_is_only_named() -> None:
    assert _previewed("f", {"x": State.SUCCEEDED})["b"] is Forecast.NAMED


def test_a_job_that_waits_for_lost_parents_is_lost() -> None:
    fates = _previewed("g", {"x": State.FAILED, "b": State.FAILED, "f": State.WAITING, "c": State.EXPECTED})
    assert (fates["c"], fates["f"], fates["g"]) == (Forecast.LOST, Forecast.LOST, Forecast.LOST)


def test_a_rerun_includes_the_dead_parents_that_would_fail_it_again() -> None:
    fates = _previewed("f", {"x": State.FAILED, "c": State.UPSTREAM_FAILED, "f": State.FAILED}, "job")
    assert (fates["x"], fates["c"], fates["f"]) == (Forecast.NEW, Forecast.NEW, Forecast.NEW)


@pytest.mark.parametrize("app", ["log", "repair"])
def test_a_rerun_leaves_a_failed_parent_as_the_job_needs_it(app: str) -> None:
    assert _previewed(app, {"x": State.FAILED, app: State.FAILED}, "job")["x"] is Forecast.NAMED


def test_a_rerun_leaves_a_parent_that_does_not_pass_its_filter() -> None:
    fates = _previewed("sum", {"odd": State.SKIPPED, "sum": State.SKIPPED}, "job")
    assert fates == {"odd": Forecast.SETTLED, "sum": Forecast.SETTLED}
