"""``sluice.testing.fly``: one flight in memory, which takes no time."""

from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Step, Wait, app, retry, saga
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.sagas.flight import Flight
from sluice.testing import Debug, fly, fly_everywhere
from tests.jobs.sagas.desk import Book, Desk, journey_of


def test_a_flight_reports_its_end_calls_and_working_map() -> None:
    desk = Desk()
    flown = fly(journey_of(Book("seat"), Book("meal")), inputs={"customer": "ann"}, context=desk)
    assert (flown.ending, flown.error) == ("succeeded", None)
    assert flown.calls == ("do seat", "do meal")
    assert flown.working == {"seat": "ann", "meal": "ann"}
    assert desk.booked == {"seat", "meal"}


def test_a_plain_function_that_makes_steps_can_be_run() -> None:
    desk = Desk()

    def journey(flight: Flight) -> list[Step]:
        return [Book("seat"), Book(f"meal for {flight.inputs['customer']}")]

    assert fly(journey, inputs={"customer": "ann"}, context=desk).ending == "succeeded"
    assert desk.booked == {"seat", "meal for ann"}
    desk.booked.clear()
    report = fly_everywhere(
        journey, inputs={"customer": "ann"}, context=desk, left_behind=lambda: sorted(desk.booked)
    )
    assert not report.troubles


def test_a_failed_flight_reports_the_reason() -> None:
    flown = fly(
        journey_of(Book("seat"), Book("meal", Fatal("sold out"))), inputs={"customer": "ann"}, context=Desk()
    )
    assert (flown.ending, flown.error) == ("undone", "meal: Fatal: sold out")
    assert flown.calls == ("do seat", "do meal", "undo meal", "undo seat")


def test_debug_makes_a_flight_fail() -> None:
    debug = Debug(fail_last=True, fail_undo={"seat": "fatal"})
    flown = fly(
        journey_of(Book("seat"), Book("meal")), inputs={"customer": "ann"}, context=Desk(), debug=debug
    )
    assert flown.ending == "fatal"
    assert flown.error == "seat: Fatal: injected by debug, in place of success"


def test_a_flight_receives_the_given_events() -> None:
    heard: list[Any] = []

    class Hears(Step):
        def do(self, flight: Flight) -> None:
            heard.append(dict(flight.events))

    flown = fly(
        journey_of(Book("seat", Wait("approved", timeout="1d")), Book("meal", Wait), Hears()),
        inputs={"customer": "ann"},
        context=Desk(),
        events={"approved": {"by": "eve"}},
    )
    assert flown.ending == "succeeded"
    assert heard == [{"approved": {"by": "eve"}, "": None}]


def test_a_long_pause_takes_no_time() -> None:
    assert fly(journey_of(Book("seat", Retry("busy"))), inputs={"customer": "ann"}, context=Desk()).calls == (
        "do seat",
        "do seat",
        "undo seat",
    )


def test_a_flight_reports_its_meters() -> None:
    class Shows(Step):
        def do(self, flight: Flight) -> None:
            flight.progress(2, 3)

    assert fly(journey_of(Shows())).meters == {"Shows": (2, 3)}


def test_a_flight_that_never_ends_is_detected() -> None:
    with pytest.raises(AssertionError, match="has not ended after 10,000 calls and entries"):
        fly(journey_of(Book("seat", Rerun)), inputs={"customer": "ann"}, context=Desk())


def test_a_retry_rule_with_a_time_limit_ends_in_virtual_time() -> None:
    class Busy(Book):
        retry = retry.exponential(0, 0, "1h")

    assert fly(journey_of(Busy("seat", Retry)), inputs={"customer": "ann"}, context=Desk()).ending == "undone"


def test_a_retry_rule_that_never_ends_is_detected() -> None:
    class Busy(Book):
        retry = retry.fixed(seconds=0, times=10**9)

    with pytest.raises(AssertionError, match="has not ended after 10,000"):
        fly(journey_of(Busy("seat", Retry)), inputs={"customer": "ann"}, context=Desk())


def test_the_context_of_the_saga_is_the_default() -> None:
    desk = Desk()

    @saga(job_id="{customer}", context=lambda: desk)
    def journey(flight: Flight) -> list[Step]:  # All flights have the same steps.
        return [Book("seat")]

    assert fly(journey, inputs={"customer": "ann"}).ending == "succeeded"
    assert desk.booked == {"seat"}


def test_an_app_that_is_no_saga_is_refused() -> None:
    @app(job_id="{customer}")
    def etl() -> None: ...

    with pytest.raises(BadRequest, match="etl is no saga"):
        fly(etl)


def test_a_saga_with_a_faulty_definition_is_refused() -> None:
    @saga(job_id="{customer}", hooks=[3])
    def journey(flight: Flight) -> list[Step]:  # It is never run.
        return []

    with pytest.raises(DefinitionError, match="hooks"):
        fly(journey)
