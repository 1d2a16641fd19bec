"""The example sagas, run in memory: they behave as their documentation describes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sluice import Fatal, Step
from sluice.jobs.catalogue import load
from sluice.jobs.examples.pitfalls import Shelf, checking, claiming, hasty, remembering
from sluice.jobs.examples.trips import BALANCE, FARE, SEATS, World, trip
from sluice.jobs.sagas.flight import Flight
from sluice.testing import Flown, fly, fly_everywhere

# Trips.


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "trips.db")


def _counts(world: World) -> tuple[int, int, int]:
    with world.books() as books:
        seats, payments, tickets = (
            books.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("seat", "payment", "ticket")
        )
    return seats, payments, tickets


def _trip(world: World, customer: str) -> Flown:
    return fly(trip, inputs={"customer": customer, "flight_no": "LX318"}, context=world)


def test_a_trip_is_booked_as_a_whole(world: World) -> None:
    assert _trip(world, "ann").ending == "succeeded"
    assert _counts(world) == (1, 1, 1)


def test_a_trip_that_cannot_be_paid_leaves_nothing(world: World) -> None:
    with world.books() as books:
        books.execute("INSERT INTO payment VALUES ('rent', 'ann', ?)", [BALANCE - FARE + 1])
    flown = _trip(world, "ann")
    assert flown.ending == "undone"
    assert flown.calls[-2:] == ("undo Pay", "undo Reserve")
    assert _counts(world) == (0, 1, 0)


def test_a_late_customer_gets_no_seat_and_removes_none(world: World) -> None:
    landed = [_trip(world, f"customer {number}").ending for number in range(SEATS)]
    assert landed == ["succeeded"] * SEATS
    assert _trip(world, "late").ending == "undone"
    assert _counts(world) == (SEATS, SEATS, SEATS)


# Pitfalls.


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


def _flies(trip: Any, shelf: Shelf, who: str) -> Flown:
    return fly(trip, inputs={"who": who, "name": "photos"}, context=shelf)


def _landed(trip: Any, shelf: Shelf, who: str) -> str:
    return _flies(trip, shelf, who).ending


class Then(Step):
    """Step that calls a function between two steps of a flight."""

    def __init__(self, what: Callable[[], object]) -> None:
        self.what = what

    def do(self, flight: Flight) -> Any:
        return self.what()


def _interrupted(trip: Any, at: int, what: Callable[[], object], *more: Step) -> Any:
    """Return the saga with ``what`` called before step ``at``, and with more steps after its last."""

    def build(flight: Flight) -> list[Step]:
        steps = list(trip(flight))
        return [*steps[:at], Then(what), *steps[at:], *more]

    return build


def _clear(shelf: Shelf) -> None:
    for folder in shelf.place.glob("*/"):
        folder.rmdir()
    with shelf.claims() as claims:
        claims.execute("DELETE FROM claim")


def _on(shelf: Shelf) -> tuple[list[str], int]:
    with shelf.claims() as claims:
        count = claims.execute("SELECT count(*) FROM claim").fetchone()[0]
    return sorted(folder.name for folder in shelf.place.glob("*/")), count


def test_the_hasty_saga_deletes_a_folder_of_another_flight(shelf: Shelf) -> None:
    assert _landed(hasty, shelf, "ann") == "succeeded"
    assert (shelf.place / "photos").exists()
    assert _landed(hasty, shelf, "bob") == "undone"
    assert not (shelf.place / "photos").exists()


def test_the_remembering_saga_keeps_a_folder_of_another_flight(shelf: Shelf) -> None:
    assert _landed(remembering, shelf, "ann") == "succeeded"
    assert _landed(remembering, shelf, "bob") == "undone"
    assert (shelf.place / "photos").exists()


def test_the_remembering_saga_leaves_its_own_folder_behind_after_a_crash(shelf: Shelf) -> None:
    report = fly_everywhere(
        remembering,
        inputs={"who": "ann", "name": "photos"},
        context=shelf,
        reset=lambda: _clear(shelf),
        left_behind=lambda: _on(shelf),
    )
    flights = {flown.what: flown for flown in report.flights}
    flown = flights["nothing goes wrong, and a worker dies when do MakeAndRemember has run"]
    assert flown.trouble is not None
    assert (flown.ending, flown.left_behind) == ("undone", (["photos"], 0))


def test_two_checking_sagas_both_succeed_and_one_can_lose_its_folder(shelf: Shelf) -> None:
    landed: list[str] = []

    def ann_flies() -> None:
        landed.append(_landed(checking, shelf, "ann"))

    assert _landed(_interrupted(checking, 1, ann_flies), shelf, "bob") == "succeeded"
    assert landed == ["succeeded"]
    _clear(shelf)
    fails = Then(lambda: Fatal("bob cancels"))
    assert _landed(_interrupted(checking, 1, ann_flies, fails), shelf, "bob") == "undone"
    assert landed == ["succeeded"] * 2
    assert not (shelf.place / "photos").exists()


def test_of_two_claiming_sagas_one_gets_the_folder_and_the_other_leaves_nothing(shelf: Shelf) -> None:
    flown: list[Flown] = []

    def ann_flies() -> None:
        flown.append(_flies(claiming, shelf, "ann"))

    assert _landed(_interrupted(claiming, 1, ann_flies), shelf, "bob") == "undone"
    (ann,) = flown
    assert (ann.ending, _on(shelf)) == ("succeeded", (["photos"], 1))
    with shelf.claims() as claims:
        assert claims.execute("SELECT name, owner FROM claim").fetchall() == [
            ("photos", ann.working["owner"])
        ]


@pytest.mark.parametrize("module", ["trips", "pitfalls"])
def test_the_examples_can_be_loaded_as_sagas_with_a_context(module: str) -> None:
    apps = load([f"sluice.jobs.examples.{module}"])
    assert {app.job_type for app in apps.values()} == {"saga"}
    assert all(app.saga is not None and app.saga.context is not None for app in apps.values())
