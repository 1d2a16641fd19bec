"""``sluice.testing.fly_everywhere``: runs a saga with every possible failure and compares its remaining effects."""

from pathlib import Path
from typing import Any

import pytest

from sluice import Fatal, Rerun, Step, Stop, Wait, saga
from sluice.jobs.examples.pitfalls import Shelf, checking, claiming, hasty, remembering
from sluice.jobs.examples.trips import World, trip
from sluice.jobs.sagas.flight import Flight
from sluice.testing import Report, fly_everywhere
from tests.jobs.sagas.desk import Book, Desk, journey_of


class Forgets(Book):
    def undo(self, flight: Flight) -> Any:
        pass


class Stumbles(Book):
    """Step with an undo that fails if nothing is booked."""

    def undo(self, flight: Flight) -> Any:
        flight.context.booked.remove(self.name)


class BooksAgain(Book):
    def do(self, flight: Flight) -> Any:
        flight.context.booked.add(f"{self.name} {len(flight.context.booked)}")

    def undo(self, flight: Flight) -> Any:
        flight.context.booked -= {each for each in flight.context.booked if each.startswith(self.name)}


def _everywhere(*steps: Step, **words: Any) -> Report:
    desk = Desk()
    return fly_everywhere(
        journey_of(*steps),
        inputs={"customer": "ann"},
        context=desk,
        left_behind=lambda: sorted(desk.booked),
        **words,
    )


def test_a_correct_saga_has_no_trouble_in_any_flight() -> None:
    report = _everywhere(Book("seat"), Book("meal"), Book("ticket"))
    assert not report.troubles
    assert str(report) == f"{len(report.flights)} flights, 0 in trouble"
    assert {flown.ending for flown in report.flights} == {"succeeded", "undone"}


@pytest.mark.parametrize(
    "answer", [Rerun, Stop, Wait, Wait("x", timeout=1), Wait("x", timeout=1, otherwise="go_on")]
)
def test_a_correct_saga_has_no_trouble_with_any_answer(answer: Any) -> None:
    class Twice(Book):
        def do(self, flight: Flight) -> Any:
            again = self.name not in flight.working
            super().do(flight)
            return answer if again else None

    report = _everywhere(Book("seat"), Twice("meal"), Book("ticket"))
    assert not report.troubles


def test_every_possible_failure_is_tried_once() -> None:
    report = _everywhere(Book("seat"), Book("meal"))
    what = [flown.what for flown in report.flights]
    assert len(what) == len(set(what))
    plain = [each for each in what if "dies" not in each]
    assert plain == [
        "nothing goes wrong",
        "do seat fails before it has any effect",
        "do seat fails after it has run",
        "do meal fails before it has any effect",
        "do meal fails after it has run",
        "do meal fails, and undo seat before it has any effect",
        "do meal fails, and undo seat after it has run",
        "do meal fails, and undo meal before it has any effect",
        "do meal fails, and undo meal after it has run",
    ]
    deaths = [each.removeprefix("nothing goes wrong, and a worker dies when ") for each in what[1:5]]
    assert deaths == [
        "do seat has run",
        "the journal has do seat: done",
        "do meal has run",
        "the journal has do meal: done",
    ]


def test_one_flight_lets_a_wait_time_out() -> None:
    report = _everywhere(Book("seat", Wait("approved", timeout=1)))
    silent = [
        flown for flown in report.flights if flown.what == "the event that it waits for does not arrive"
    ]
    assert [(flown.ending, flown.calls) for flown in silent] == [("undone", ("do seat", "undo seat"))]


def test_a_saga_that_always_fails_can_be_tested_too() -> None:
    report = _everywhere(Book("seat"), Book("meal", Fatal("sold out")))
    assert not report.troubles
    assert {flown.ending for flown in report.flights} == {"undone"}


def test_an_undo_that_leaves_something_behind_is_detected() -> None:
    troubles = _everywhere(Book("seat"), Forgets("meal")).troubles
    assert troubles[0].startswith(
        "nothing goes wrong: undone after its success, it left behind ['meal'] instead of []"
    )
    assert len(troubles) == 1


def test_with_a_reset_each_flight_begins_from_a_clean_state() -> None:
    desk = Desk()
    report = fly_everywhere(
        journey_of(Book("seat"), Forgets("meal")),
        inputs={"customer": "ann"},
        context=desk,
        left_behind=lambda: desk.booked,
        reset=desk.booked.clear,
    )
    left = [flown for flown in report.flights if flown.trouble]
    assert len(left) > 10
    assert all(flown.left_behind >= {"meal"} for flown in left)


def test_an_undo_that_cannot_run_twice_is_detected() -> None:
    troubles = _everywhere(Book("seat"), Stumbles("meal")).troubles
    assert any("do meal fails before it has any effect: it cannot be undone" in each for each in troubles)
    assert any("and a worker dies when undo meal has run: it cannot be undone" in each for each in troubles)


def test_a_do_that_cannot_run_twice_is_detected() -> None:
    (trouble,) = _everywhere(BooksAgain("seat")).troubles
    what, _, told = trouble.partition(": ")
    assert what == "nothing goes wrong, and a worker dies when do seat has run"
    assert told == "it left ['seat 0', 'seat 1'] instead of ['seat 0'] (do seat, do seat)"


def test_a_saga_with_other_steps_after_a_crash_is_detected() -> None:
    desk = Desk()

    @saga(job_id="{customer}")
    def fickle(flight: Flight) -> list[Step]:
        flight.context.count += 1
        return [Book("seat"), Book(f"meal {flight.context.count}")]

    report = fly_everywhere(
        fickle, inputs={"customer": "ann"}, context=desk, left_behind=lambda: sorted(desk.booked)
    )
    assert any("Unbuildable" in each for each in report.troubles)


# The examples.


def test_the_example_trip_has_no_trouble_in_any_flight(tmp_path: Path) -> None:
    world = World(tmp_path / "trips.db")

    def booked() -> list[Any]:
        with world.books() as books:
            return [
                books.execute(f"SELECT * FROM {table}").fetchall() for table in ("seat", "payment", "ticket")
            ]

    inputs = {"customer": "ann", "flight_no": "LX318"}
    report = fly_everywhere(trip, inputs=inputs, context=world, left_behind=booked)
    assert not report.troubles
    assert len(report.flights) > 100


def test_a_wait_with_a_timeout_of_zero_can_time_out() -> None:
    class Asks(Step):
        def do(self, flight: Flight) -> Wait:
            return Wait("approved", timeout=0)

    report = fly_everywhere(lambda flight: [Asks()], left_behind=lambda: None)
    assert "the event that it waits for does not arrive" in [flown.what for flown in report.flights]


@pytest.mark.parametrize(
    ("pitfall", "is_there", "fails"),
    [
        (hasty, False, True),
        (hasty, True, True),
        (remembering, False, True),
        (checking, False, False),
        (claiming, False, False),
    ],
)
def test_pitfalls_that_a_single_flight_can_show_are_detected(
    tmp_path: Path, pitfall: Any, is_there: bool, fails: bool
) -> None:
    shelf = Shelf(tmp_path / "shelf")
    photos = shelf.place / "photos"

    def puts_in_order() -> None:
        if is_there:
            photos.mkdir(exist_ok=True)
        elif photos.exists():
            photos.rmdir()

    report = fly_everywhere(
        pitfall,
        inputs={"who": "ann", "name": "photos"},
        context=shelf,
        left_behind=photos.exists,
        reset=puts_in_order,
    )
    assert bool(report.troubles) == fails
