"""All names that users need are in ``from sluice import …``, and importing them is cheap."""

import json
import subprocess
import sys

import pytest

import sluice
from tests.style.sources import ROOMS, ROOT

#: Packages that a worker or a display needs, and a definition does not.
SLOW = {
    "alembic",
    "apscheduler",
    "asyncio",
    "dramatiq",
    "networkx",
    "pika",
    "psycopg",
    "redis",
    "rich",
    "sqlalchemy",
    "sqlite3",
    "yaml",
}
FOR_DEFINITIONS = sorted({*sluice.__all__} - {"AsyncClient", "Client", "Handle", "connect"})


def _printed(code: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def _loaded(code: str) -> set[str]:
    """Return the modules that are loaded after the code has run."""
    return set(json.loads(_printed(f"{code}\nimport json, sys; print(json.dumps([*sys.modules]))")))


def test_importing_the_package_loads_no_other_module_of_sluice() -> None:
    assert {name for name in _loaded("import sluice") if name.startswith("sluice")} == {"sluice"}


def test_a_definition_loads_no_driver_and_no_other_room() -> None:
    loaded = _loaded(f"from sluice import {', '.join(FOR_DEFINITIONS)}")
    assert {name.partition(".")[0] for name in loaded} & SLOW == set()
    assert {name.split(".")[1] for name in loaded if name.startswith("sluice.")} & {*ROOMS} == {"jobs"}


@pytest.mark.parametrize("name", sluice.__all__)
def test_each_public_name_is_the_object_of_its_module(name: str) -> None:
    found = getattr(sluice, name)
    assert getattr(found, "__name__", None) == ("sluice.jobs.retry" if name == "retry" else name)
    assert name in dir(sluice)


@pytest.mark.parametrize(
    "loaded", ["sluice.jobs.retry", "sluice.jobs.model.app", "sluice.jobs.schedules.schedule", "sys"]
)
def test_no_module_replaces_a_public_name(loaded: str) -> None:
    said = (
        f"import {loaded}, sluice\nfrom sluice import app, retry, saga, schedule\nimport sluice.jobs.sagas.spec\n"
        "print(*[type(each).__name__ for each in (app, saga, schedule, retry, sluice.app, sluice.saga)])\n"
        "print(sluice.retry is retry, retry.fixed(seconds=1, times=2).begin(0.0).next_s(0.0, 0.5))"
    )
    assert _printed(said).split() == [*["function"] * 3, "module", *["function"] * 2, "True", "1.0"]


def test_an_unknown_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'sluice' has no attribute 'apps'"):
        _ = sluice.apps
