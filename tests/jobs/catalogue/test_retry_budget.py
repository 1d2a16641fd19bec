"""The option ``retry_budget``: valid values, and the faults of all others."""

from typing import Any

import pytest

from sluice.jobs.catalogue.fields.policy_options import parse_policy
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.policy.retry_budget import RetryBudget
from tests.jobs.catalogue import faults_of_work
from tests.world import catalogue_of

WORDS = {"job_id": "{x}", "bash_cmd": "true"}


def budget(value: Any) -> RetryBudget | None:
    return catalogue_of({"a": WORDS | {"retry_budget": value}})["a"].retry_budget


def test_the_option_is_parsed_into_a_retry_budget() -> None:
    assert budget(None) is None
    assert budget({"retries": 100, "per": "1m"}) == RetryBudget(retries=100, per_s=60.0)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (20, "20 is no mapping; write"),
        ({"retries": 5}, "the number of retries or the time per which they count is missing"),
        ({"per": "5s"}, "the number of retries or the time per which they count is missing"),
        ({"retries": 0, "per": "5s"}, "0 is not a whole number from 1 on"),
        ({"retries": True, "per": "5s"}, "True is not a whole number"),
        ({"retries": 2, "per": "500ms"}, "less than a second"),
        ({"retries": 2, "per": "1m", "pause": 3}, "unknown option 'pause'"),
    ],
)
def test_an_invalid_retry_budget_is_a_fault(value: Any, fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        budget(value)


def test_a_long_running_app_cannot_have_a_retry_budget() -> None:
    words = {"job_id": "{x}", "job_type": f"{faults_of_work.__name__}:Grid", "is_long_running": True}
    with pytest.raises(DefinitionError, match="retry_budget: the app is_long_running"):
        catalogue_of({"a": words | {"retry_budget": {"retries": 2, "per": "1m"}}})


def test_a_submission_cannot_set_a_retry_budget() -> None:
    with pytest.raises(BadRequest, match="unknown option 'retry_budget'"):
        parse_policy({"retry_budget": {"retries": 2, "per": "1m"}})


def test_a_retry_budget_does_not_change_the_digest_of_an_app() -> None:
    with_one = catalogue_of({"a": WORDS | {"retry_budget": {"retries": 2, "per": "1m"}}})
    assert with_one["a"].digest == catalogue_of({"a": WORDS})["a"].digest
