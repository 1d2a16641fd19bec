"""The word ``retry_budget``: what it may say, and that everything else is a fault."""

from typing import Any

import pytest

from sluice.jobs.catalogue.policy import parse_policy
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.retry_budget import RetryBudget
from tests.jobs.catalogue import faults_of_work
from tests.world import catalogue_of

WORDS = {"job_id": "{x}", "bash_cmd": "true"}


def budget(value: Any) -> RetryBudget | None:
    return catalogue_of({"a": WORDS | {"retry_budget": value}})["a"].retry_budget


def test_what_it_says() -> None:
    assert budget(None) is None
    assert budget({"retries": 100, "per": "1m"}) == RetryBudget(retries=100, per_s=60.0)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (20, "20 is no mapping; write"),
        ({"retries": 5}, "how many retries there are in what time"),
        ({"per": "5s"}, "how many retries there are in what time"),
        ({"retries": 0, "per": "5s"}, "0 is not a whole number from 1 on"),
        ({"retries": True, "per": "5s"}, "True is not a whole number"),
        ({"retries": 2, "per": "500ms"}, "less than a second"),
        ({"retries": 2, "per": "1m", "pause": 3}, "unknown word 'pause'"),
    ],
)
def test_what_is_wrong_with_it(value: Any, fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        budget(value)


def test_work_without_an_end_has_a_rule_of_its_own() -> None:
    words = {"job_id": "{x}", "job_type": f"{faults_of_work.__name__}:Grid", "is_long_running": True}
    with pytest.raises(DefinitionError, match="retry_budget: it is_long_running"):
        catalogue_of({"a": words | {"retry_budget": {"retries": 2, "per": "1m"}}})


def test_a_submission_has_none_of_its_own() -> None:
    with pytest.raises(BadRequest, match="unknown word 'retry_budget'"):
        parse_policy({"retry_budget": {"retries": 2, "per": "1m"}})


def test_what_an_app_does_is_the_same_with_one_or_without() -> None:
    with_one = catalogue_of({"a": WORDS | {"retry_budget": {"retries": 2, "per": "1m"}}})
    assert with_one["a"].digest == catalogue_of({"a": WORDS})["a"].digest
