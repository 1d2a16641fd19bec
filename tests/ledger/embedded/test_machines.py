"""Embedded Postgres on machines that lack something: the wheel, any Postgres, namespaces."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluice.ledger.embedded import EmbeddedUnavailable
from sluice.ledger.embedded.binaries import Machine
from sluice.ledger.embedded.server import EmbeddedPostgres, open_postgres
from tests.ledger.embedded.homes import ask, postmaster
from tests.ledger.embedded.users import AS_ROOT, NOBODY


@pytest.fixture
def without_namespaces(ground: Path) -> Machine:
    return Machine(namespaces=False, shelter=ground / "shelter")


def test_without_any_postgres_the_error_shows_how_to_get_one(fresh: Path) -> None:
    bare = Machine(wheel="no_such_package", path="", packages=fresh)
    with pytest.raises(
        EmbeddedUnavailable, match=r"(?s)pip install 'sluice-jobs\[embedded\]'.*SLUICE_LEDGER_URL"
    ):
        open_postgres(fresh, bare, durable=False)


def test_without_the_wheel_a_postgres_of_the_machine_is_used(fresh: Path) -> None:
    machine = Machine(wheel="no_such_package")
    if not shutil.which("initdb") and not list(machine.packages.glob("*/bin/initdb")):
        pytest.skip("this machine has no Postgres of its own")
    with open_postgres(fresh, machine, durable=False) as postgres:
        assert ask(postgres.url, "SELECT current_database()") == "sluice"


@AS_ROOT
def test_without_namespaces_root_starts_the_server_as_an_unprivileged_account(
    fresh: Path, without_namespaces: Machine
) -> None:
    fresh.parent.chmod(0o711)
    with open_postgres(fresh, without_namespaces, durable=False) as postgres:
        assert serves_as_nobody(postgres, fresh)
        assert (fresh / "postgres").resolve().is_relative_to(fresh)
    with open_postgres(fresh, replace(without_namespaces, namespaces=True), durable=False) as postgres:
        assert serves_as_nobody(postgres, fresh)


@AS_ROOT
def test_binaries_and_data_in_a_private_folder_are_kept_in_the_shelter(
    fresh: Path, without_namespaces: Machine, monkeypatch: Any
) -> None:
    packages = fresh.parent / "site-packages"
    private_copy_of_wheel(packages, without_namespaces)
    monkeypatch.syspath_prepend(packages)
    for _ in ("first", "warm"):
        with open_postgres(fresh, without_namespaces, durable=False) as postgres:
            assert serves_as_nobody(postgres, fresh)
            assert Path(postmaster(fresh).exe()).is_relative_to(without_namespaces.shelter)
            assert (fresh / "postgres").resolve().parent == without_namespaces.shelter
    assert fresh.parent.stat().st_mode & 0o777 == 0o700
    shutil.rmtree((fresh / "postgres").resolve())
    with pytest.raises(EmbeddedUnavailable, match="which is missing"):
        open_postgres(fresh, without_namespaces, durable=False)


@AS_ROOT
def test_data_of_root_are_refused_if_namespaces_are_missing(home: Path, without_namespaces: Machine) -> None:
    if (home / "postgres").stat().st_uid != 0:
        pytest.skip("there were none to begin with")
    with pytest.raises(EmbeddedUnavailable, match="chown -R"):
        open_postgres(home, without_namespaces, durable=False)


def serves_as_nobody(postgres: EmbeddedPostgres, home: Path) -> bool:
    return postmaster(home).uids().real == NOBODY.pw_uid and bool(ask(postgres.url, "SELECT 1"))


def private_copy_of_wheel(packages: Path, machine: Machine) -> None:
    """Copy the wheel into a folder of mode 0700, as if it were installed in root's own home."""
    found = next((Path(p) for p in sys.path if (Path(p) / machine.wheel).is_dir()), None)
    if found is None:
        pytest.skip("the wheel is not installed")
    for part in (f"{machine.wheel}/pginstall18", f"{machine.wheel}.libs"):
        if (found / part).is_dir():
            shutil.copytree(found / part, packages / part)
    (packages / machine.wheel / "__init__.py").touch()
