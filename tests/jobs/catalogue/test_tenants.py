"""The option ``tenant``: the team to which an app belongs."""

from typing import Any

import pytest

from sluice.jobs.errors import DefinitionError
from tests.world import catalogue_of

WORDS = {"job_id": "{x}", "bash_cmd": "true"}


def test_an_app_belongs_to_the_named_tenant_or_to_the_default_one() -> None:
    catalogue = catalogue_of({"a": WORDS | {"tenant": "risk-2"}, "b": WORDS})
    assert [catalogue[name].tenant for name in ("a", "b")] == ["risk-2", "default"]
    assert catalogue.tenants == {"a": "risk-2"}


@pytest.mark.parametrize("value", ["Risk", "2", "", "a b", "a" * 61, 7, None])
def test_another_value_is_a_fault(value: Any) -> None:
    with pytest.raises(DefinitionError, match=r"tenant: .* is no name; write lower-case letters"):
        catalogue_of({"a": WORDS | {"tenant": value}})


def test_a_change_of_the_tenant_does_not_change_the_digest() -> None:
    digests = {catalogue_of({"a": WORDS | {"tenant": name}})["a"].digest for name in ("risk", "growth")}
    assert len(digests | {catalogue_of({"a": WORDS})["a"].digest}) == 1
