"""The option ``breaker``: valid values, and the faults of all others."""

from typing import Any

import pytest

from sluice.jobs.catalogue.fields.policy_options import parse_policy
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.policy.breaker import Breaker
from tests.world import catalogue_of


def breaker(value: Any) -> Breaker | None:
    return catalogue_of({"a": {"job_id": "{x}", "bash_cmd": "true", "breaker": value}})["a"].breaker


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, None),
        ({"fails": 20}, Breaker(fails=20, pause_s=30.0, pause_s_max=600.0)),
        ({"fails": 1, "pause": "5s", "pause_max": "1m"}, Breaker(fails=1, pause_s=5.0, pause_s_max=60.0)),
        ({"fails": 3, "pause": "1h"}, Breaker(fails=3, pause_s=3600.0, pause_s_max=3600.0)),
    ],
)
def test_the_option_is_parsed_into_a_breaker(value: Any, read: Breaker | None) -> None:
    assert breaker(value) == read


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (20, "20 is no mapping; write"),
        ({}, "the number of fails in a row, is missing"),
        ({"pause": "30s"}, "the number of fails in a row, is missing"),
        ({"fails": 0}, "0 is not a whole number from 1 on"),
        ({"fails": True}, "True is not a whole number"),
        ({"fails": 2, "pause": 0}, "less than a second"),
        ({"fails": 2, "pause": "1m", "pause_max": "30s"}, "shorter than the first pause"),
        ({"fails": 2, "wait": "1m"}, "unknown option 'wait'"),
    ],
)
def test_an_invalid_breaker_is_a_fault(value: Any, fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        breaker(value)


def test_a_submission_cannot_set_a_breaker() -> None:
    with pytest.raises(BadRequest, match="unknown option 'breaker'"):
        parse_policy({"breaker": {"fails": 1}})


def test_a_breaker_does_not_change_the_digest_of_an_app() -> None:
    app = {"job_id": "{x}", "bash_cmd": "true"}
    with_one = catalogue_of({"a": {**app, "breaker": {"fails": 1}}})
    assert with_one["a"].digest == catalogue_of({"a": app})["a"].digest
