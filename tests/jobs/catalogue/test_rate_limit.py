"""The option ``rate_limit``: valid values, and the faults of all others."""

from typing import Any

import pytest

from sluice.jobs.catalogue.fields.policy_options import parse_policy
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.policy.rate_limit import RateLimit
from tests.world import catalogue_of

WORDS = {"job_id": "{x}", "bash_cmd": "true"}


def limit(value: Any, **words: Any) -> RateLimit | None:
    return catalogue_of({"a": WORDS | {"rate_limit": value} | words})["a"].rate_limit


@pytest.mark.parametrize(
    ("value", "starts", "per_s", "burst"),
    [
        ("5/s", 5, 1.0, 1),
        (" 100 / m ", 100, 60.0, 1),
        ("2/h", 2, 3600.0, 1),
        ("1/10s", 1, 10.0, 1),
        ("1/1h30m", 1, 5400.0, 1),
        ("3/250ms", 3, 0.25, 2),
        ("100/s", 100, 1.0, 10),
        ("25/s", 25, 1.0, 3),
    ],
)
def test_a_rate_is_a_number_of_starts_per_duration(value: str, starts: int, per_s: float, burst: int) -> None:
    assert limit(value) == RateLimit(starts=starts, per_s=per_s, burst=burst)


def test_the_mapping_adds_a_key_and_a_burst() -> None:
    assert limit(None) is None
    assert limit({"limit": "5/s"}) == limit("5/s")
    assert limit({"limit": "5/s", "key": "{x}-{kwargs.region}", "burst": 10}) == RateLimit(
        starts=5, per_s=1.0, burst=10, key="{x}-{kwargs.region}"
    )


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (5, '5 is neither a rate nor a mapping; write "5/s"'),
        ("5", "'5' is not a whole number of starts per duration; write \"5/s\""),
        ("0.5/s", "'0.5/s' is not a whole number of starts per duration; write .* \"1/10s\""),
        ("-1/s", "'-1/s' is not a whole number of starts"),
        ("0/s", "'0/s' lets no job start; pause the app instead"),
        ("5/", "'5/' is not a whole number of starts per duration"),
        ("5/10", "'5/10' has no duration after the slash, like s, m, h, d or 10s"),
        ("5/0s", "'5/0s' has no duration after the slash"),
        ("5/sec", "'5/sec' has no duration after the slash"),
        ("5/9000w", "'5/9000w' has no duration after the slash"),
        ({}, "there is no limit; write"),
        ({"limit": 5}, "limit: 5 is not a whole number of starts per duration"),
        ({"limit": "5/s", "burst": 0}, "burst: 0 is not a whole number from 1 on"),
        ({"limit": "5/s", "burst": True}, "burst: True is not a whole number from 1 on"),
        ({"limit": "5/s", "key": "customer"}, "key: 'customer' is not a text with a value in braces"),
        ({"limit": "5/s", "key": "{customer}"}, "rate_limit: the key names {customer}; there are {x}"),
        ({"limit": "5/s", "per": "1m"}, "unknown option 'per'"),
    ],
)
def test_an_invalid_rate_limit_is_a_fault(value: Any, fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        limit(value)


def test_a_submission_cannot_set_a_rate_limit() -> None:
    with pytest.raises(BadRequest, match="unknown option 'rate_limit'"):
        parse_policy({"rate_limit": "5/s"})
    with pytest.raises(DefinitionError, match="submitters_may_set"):
        limit("5/s", submitters_may_set=["rate_limit"])


def test_a_rate_limit_does_not_change_the_digest_of_an_app() -> None:
    assert (
        catalogue_of({"a": WORDS | {"rate_limit": "5/s"}})["a"].digest
        == catalogue_of({"a": WORDS})["a"].digest
    )
