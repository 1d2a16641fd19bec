"""The option ``tenant``: the team to which an app belongs."""

from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.catalogue import check_names, load
from sluice.jobs.errors import DefinitionError
from sluice.jobs.policy.tenants import Tenant, Tenants
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


TENANTS = Tenants({"risk": Tenant(prefix="risk."), "risk-eu": Tenant(prefix="risk.eu."), "growth": Tenant()})


@pytest.mark.parametrize(
    ("app", "tenant"),
    [("risk.load", "risk"), ("risk.eu.load", "risk-eu"), ("load", "growth"), ("load", "other")],
)
def test_an_app_may_have_a_name_of_its_tenant(app: str, tenant: str) -> None:
    assert TENANTS.fault_of_name(app, tenant) is None


@pytest.mark.parametrize(
    ("app", "tenant", "fault"),
    [
        ("load", "risk", "the name of an app of the tenant risk begins with 'risk.'"),
        ("risk.eu.load", "risk", "the name of an app of the tenant risk begins with 'risk.'"),
        ("risk.load", "risk-eu", "the name of an app of the tenant risk-eu begins with 'risk.eu.'"),
        (
            "risk.load",
            "growth",
            "a name that begins with 'risk.' is for apps of the tenant risk, not of growth",
        ),
        (
            "risk.load",
            "default",
            "a name that begins with 'risk.' is for apps of the tenant risk, not of default",
        ),
    ],
)
def test_a_name_of_another_tenant_is_a_fault(app: str, tenant: str, fault: str) -> None:
    assert TENANTS.fault_of_name(app, tenant) == fault


def test_definitions_with_a_name_of_another_tenant_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "apps.yaml"
    source.write_text("risk.load: {job_id: '{x}', bash_cmd: 'true', tenant: growth}\n")
    with pytest.raises(DefinitionError, match=r"apps\.yaml: risk\.load: a name that begins with"):
        check_names(load((str(source),)), TENANTS)
