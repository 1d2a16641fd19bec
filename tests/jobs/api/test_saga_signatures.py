"""Sagas from the signature of their function: identifiers, kwargs, and typed requests."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.errors import DefinitionError
from sluice.ops.simulation.plugin import Pipelines
from sluice.testing import fly

SOURCE = """
from datetime import date

from sluice import Flight, Step, saga

BOOKED = []


class Book(Step):
    def __init__(self, *what):
        self.what = what

    def do(self, flight):
        BOOKED.append(self.what)


@saga
def trip(flight: Flight, customer: str, day: date, *, nights: int = 1, hotel: str | None = None) -> list[Step]:
    return [Book(customer, day, nights, hotel)]


@saga
def alone(flight: Flight) -> list[Step]:
    return [Book("alone")]


@saga(job_id="{customer}")
def by_template(it, customer):
    return [Book(customer)]


@saga
def strict(flight: Flight, customer: str, *, hotel: str) -> list[Step]:
    return [Book(customer, hotel)]
"""
DAY = date(2026, 11, 20)


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "agency.py").write_text(SOURCE)
    return str(tmp_path / "agency.py")


def test_the_identifiers_follow_from_the_parameters(source: str) -> None:
    apps = load([source])
    assert {name: str(app.template.text) for name, app in apps.items()} == {
        "trip": "{customer}_{day}",
        "alone": "",
        "by_template": "{customer}",
        "strict": "{customer}",
    }
    assert apps["trip"].days == ("day",)


@pytest.fixture
def agency() -> dict[str, Any]:
    """Return the names of the source."""
    space: dict[str, Any] = {"__name__": "agency"}
    exec(SOURCE, space)
    return space


def test_a_flight_gets_its_identifiers_and_kwargs_as_arguments(agency: dict[str, Any]) -> None:
    fly(agency["trip"], inputs={"customer": "ann", "day": DAY, "nights": 3})
    assert agency["BOOKED"] == [("ann", DAY, 3, None)]


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ({"customer": "ann"}, "missing 1 required keyword-only argument: 'hotel'"),
        ({"customer": "ann", "hotel": 7}, "The kwarg hotel does not fit its type"),
    ],
)
def test_arguments_that_do_not_fit_fail_the_flight(
    agency: dict[str, Any], inputs: dict[str, str], error: str
) -> None:
    flown = fly(agency["strict"], inputs=inputs)
    assert flown.ending == "undone"
    assert error in (flown.error or "")


def test_a_request_takes_the_arguments_without_the_flight(agency: dict[str, Any]) -> None:
    request = agency["trip"].job("ann", DAY, nights=2)
    assert (request.app, request.key, request.kwargs) == ("trip", "ann_20261120", {"nights": 2})
    assert agency["alone"].job().key == ""


def test_an_identifier_that_cannot_be_passed_by_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "agency.py").write_text(SOURCE + "\n@saga\ndef wrong(flight, customer, /): ...\n")
    with pytest.raises(
        DefinitionError, match="wrong has to take the flight first, and everything else by name"
    ):
        load([str(tmp_path / "agency.py")])


def test_steps_may_depend_on_the_inputs_in_virtual_time(pipeline: Pipelines, source: str) -> None:
    run = pipeline(source)
    run.submit("trip", "ann_20261120", kwargs={"nights": 2})
    run.until_quiet()
    assert run.states() == {"trip/ann_20261120": "succeeded"}
