"""The option ``concurrency``, and the names of the pools that it assigns jobs to."""

from typing import Any

import pytest

from sluice.jobs.catalogue import parse_policy
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.model.pool import pool_of, spoken
from sluice.jobs.policy.concurrency import Concurrency
from tests.world import catalogue_of

APP = {"job_id": "{x}_{y}", "bash_cmd": "true"}
FILLS = {"bash_cmd": "true", "partition": "day"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (1, Concurrency(limit=1)),
        ({"key": "{x}", "limit": 2}, Concurrency(limit=2, key="{x}")),
        (
            {"key": "{{{app_name} {job_id} {kwargs.k}", "limit": 2},
            Concurrency(limit=2, key="{{{app_name} {job_id} {kwargs.k}"),
        ),
        ({"pool": "warehouse", "limit": 5}, Concurrency(limit=5, pool="warehouse")),
    ],
)
def test_concurrency_may_be_a_number_a_key_or_a_named_pool(written: Any, read: Concurrency) -> None:
    found = catalogue_of({"a": APP | {"concurrency": written}})["a"].policy.concurrency
    assert found == read
    assert parse_policy({"concurrency": written}) == {"concurrency": found}


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (0, "concurrency: 0 is not a whole number from 1 on"),
        (-2, "concurrency: -2 is not a whole number from 1 on"),
        (True, "concurrency: True is not a whole number from 1 on"),
        (2**31, "concurrency: 2147483648 is not a whole number from 1 on"),
        (1.5, "concurrency: 1.5 is neither a number nor a mapping; write 3"),
        (None, "concurrency: None is neither a number nor a mapping"),
        ("3", "concurrency: '3' is neither a number nor a mapping"),
        ({"limit": 2}, "concurrency: it has either a key or a pool"),
        ({"limit": 2, "key": "{x}", "pool": "p"}, "concurrency: it has either a key or a pool"),
        ({"key": "{x}"}, "concurrency: there is no limit"),
        ({"key": "{x}", "limit": 0}, "concurrency: limit: 0 is not a whole number from 1 on"),
        ({"key": "{x}", "limit": False}, "concurrency: limit: False is not a whole number"),
        ({"kee": "{x}", "limit": 1}, "concurrency: unknown option 'kee' (did you mean key?)"),
        (
            {"key": "{z}", "limit": 1},
            "concurrency: the key names {z}; there are {x}, {y}, {app_name}, {job_id}",
        ),
        ({"key": "{kwargs.}", "limit": 1}, "concurrency: the key names {kwargs.}"),
        ({"key": "{x", "limit": 1}, "concurrency: key: a single { at character 1; write it twice"),
        ({"key": "all", "limit": 1}, "concurrency: key: 'all' is not a text with a value in braces"),
        ({"pool": "", "limit": 1}, "concurrency: pool: '' is not the name of a pool"),
        ({"pool": "a b", "limit": 1}, "concurrency: pool: 'a b' is not the name of a pool"),
        ({"pool": 7, "limit": 1}, "concurrency: pool: 7 is not the name of a pool"),
    ],
)
def test_an_invalid_concurrency_is_a_fault(written: Any, fault: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        catalogue_of({"a": APP | {"concurrency": written}})
    assert [each.what[: len(fault)] for each in raised.value.faults] == [fault]


def test_an_invalid_concurrency_in_a_submission_is_refused() -> None:
    with pytest.raises(BadRequest, match="concurrency: 0 is not a whole number from 1 on"):
        parse_policy({"concurrency": 0})


@pytest.mark.parametrize("app", [{"bash_cmd": "true", "chunk_size": 2}, FILLS], ids=["chunks", "partitions"])
def test_apps_without_identifiers_cannot_use_one_in_a_concurrency_key(app: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=r"the key names \{x\}; there are \{app_name\}, \{job_id\}"):
        catalogue_of({"a": app | {"concurrency": {"key": "{x}", "limit": 1}}})


def test_the_concurrency_key_of_a_mode_is_checked_against_its_app() -> None:
    words = {"concurrency": {"key": "{x}", "limit": 1}}
    with pytest.raises(DefinitionError, match=r"modes: offline: concurrency: the key names \{x\}"):
        catalogue_of({"a": FILLS | {"modes": {"offline": words}}})


def test_concurrency_does_not_change_the_digest_of_an_app() -> None:
    one, other = (catalogue_of({"a": APP | words})["a"] for words in ({}, {"concurrency": 2}))
    assert one.digest == other.digest


def _pool(
    concurrency: Any, key: str = "1_2", kwargs: dict[str, Any] | None = None, app: str = "a"
) -> str | None:
    found = catalogue_of({app: APP | {"concurrency": concurrency}})[app]
    return pool_of(found, found.policy, key, kwargs or {})


def test_pools_of_different_kinds_have_different_names() -> None:
    pools = [
        _pool(1),
        _pool(1, app="pool"),
        _pool({"pool": "a", "limit": 1}),
        _pool({"key": "{{{x}", "limit": 1}),
        _pool({"key": "{kwargs.k}", "limit": 1}, kwargs={"k": ""}),
        _pool({"key": "{kwargs.k}", "limit": 1}, kwargs={"k": ":"}, app="pool"),
    ]
    assert pools == ["a", "pool", "pool a", "a:{1", "a:", "pool::"]
    assert [spoken(pool or "") for pool in pools[:3]] == ["the pool of a", "the pool of pool", "pool a"]


def test_kwargs_other_than_texts_and_numbers_count_as_missing_in_a_key() -> None:
    key = {"key": "{kwargs.k}/{y}", "limit": 1}
    for value, text in (
        ("eu", "eu"),
        (7, "7"),
        (1.5, "1.5"),
        (True, ""),
        (None, ""),
        ([1], ""),
        ({"a": 1}, ""),
    ):
        assert _pool(key, kwargs={"k": value}) == f"a:{text}/2"


def test_long_texts_in_a_key_result_in_different_short_pool_names() -> None:
    key = {"key": "{kwargs.k}", "limit": 1}
    one, other = (_pool(key, kwargs={"k": "x" * 100_000 + end}) or "" for end in "ab")
    assert one != other
    assert max(len(one), len(other)) < 200
