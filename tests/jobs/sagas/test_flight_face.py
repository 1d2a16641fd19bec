"""Attributes of the flight that a step can use: inputs, context, token, meters."""

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest

from sluice import Fatal, Stop, Wait
from sluice.jobs.sagas.flight import Flight, context_of
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air


def _seen(air: Air, look: Callable[[Flight], Any]) -> Any:
    """Return the value that ``look`` reads from the flight in its first step."""
    seen: list[Any] = []
    air.scripts["do a"] = [lambda flight: seen.append(look(flight))]
    assert air.lands().how is FlightEnd.SUCCEEDED
    return seen[0]


def test_the_inputs_are_the_identifiers_and_the_kwargs() -> None:
    air = Air("a")
    air.kwargs = {"class": "first"}
    assert _seen(air, lambda flight: dict(flight.inputs)) == {"customer": "ann", "class": "first"}


def test_the_inputs_cannot_be_changed() -> None:
    air = Air("a", do_a=[lambda flight: flight.inputs.update(customer="eve")])
    landing = air.fly()
    assert (landing.how, landing.failure and landing.failure.type) == (FlightEnd.UNDONE, "AttributeError")


def test_changes_of_inputs_and_events_by_a_step_do_not_reach_later_steps() -> None:
    """Each step receives a new copy, in the same run and in a later one."""
    seen: list[Any] = []

    def takes(flight: Flight) -> None:
        flight.inputs["bags"].append("a")
        flight.events["paid"]["by"].append("a")
        seen.append([*flight.inputs["bags"], *flight.events["paid"]["by"]])

    air = Air("w a b", do_w=[Wait("paid")], do_a=[takes], do_b=[takes])
    air.kwargs = {"bags": []}
    assert air.lands().how is FlightEnd.SUSPENDED
    air.journal.tell("paid", {"by": []})
    assert air.lands().how is FlightEnd.SUCCEEDED
    assert seen == [["a", "a"], ["a", "a"]]
    assert air.kwargs == {"bags": []}


def test_a_kwarg_cannot_override_an_identifier() -> None:
    air = Air("a")
    air.kwargs = {"customer": "eve"}
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (
        FlightEnd.UNDONE,
        "BadRequest: The kwargs customer are fixed by the key ann; leave them out.",
    )
    assert air.calls == []


def test_the_flight_has_the_names_of_its_job_and_step() -> None:
    seen = _seen(Air("a"), lambda it: (it.app, it.key, it.round, it.claim, it.step, it.step_name, it.undoing))
    assert seen == ("trip", "ann", 0, 1, 0, "a", False)


def test_each_step_has_its_own_token_in_all_its_calls() -> None:
    tokens: dict[str, set[str]] = {}

    def notes(name: str, answer: Any = None) -> Callable[[Flight], Any]:
        def act(flight: Flight) -> Any:
            tokens.setdefault(name, set()).add(flight.token)
            return answer

        return act

    air = Air("a a b")
    air.scripts["do a"] = [notes("a0", Stop), notes("a1")]
    air.scripts["do b"] = [notes("b", Fatal)]
    air.scripts["undo b"] = [notes("b")]
    air.scripts["undo a"] = [notes("a1", Stop), notes("a0")]
    assert air.lands().how is FlightEnd.UNDONE
    assert [len(each) for each in tokens.values()] == [1, 1, 1]
    assert len(set.union(*tokens.values())) == 3


def test_the_context_is_made_once_for_all_flights_of_a_process() -> None:
    made: list[object] = []

    def desk() -> object:
        made.append(object())
        return made[-1]

    one, other = Air("a"), Air("a")
    one.context = other.context = desk
    assert _seen(one, lambda flight: flight.context) is _seen(other, lambda flight: flight.context)
    assert len(made) == 1


def test_a_context_that_failed_is_created_again_for_the_next_flight() -> None:
    tries: list[int] = []

    def desk() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise SystemExit("closed")
        return "desk"

    air = Air("a")
    air.context = desk
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "SystemExit: closed")
    assert _seen(air, lambda flight: flight.context) == "desk"


def test_a_slow_context_does_not_delay_sagas_with_another_context() -> None:
    begun, may_end = Event(), Event()

    def slow() -> str:
        begun.set()
        assert may_end.wait(60)
        return "slow"

    made: list[object] = []
    first = Thread(target=lambda: made.append(context_of(slow)), daemon=True)
    first.start()
    assert begun.wait(60)
    other = Thread(target=lambda: made.append(context_of(lambda: "quick")), daemon=True)
    other.start()
    other.join(10)
    seen = list(made)
    may_end.set()
    first.join(60)
    assert (seen, made) == (["quick"], ["quick", "slow"])


def test_a_saga_may_have_no_context() -> None:
    assert _seen(Air("a"), lambda flight: flight.context) is None


def test_meters_are_stored_at_once_and_not_reverted() -> None:
    air = Air("a")

    def shows(flight: Flight) -> Any:
        flight.progress(1, 4)
        flight.progress(2, name="luggage")
        assert air.journal.meters == {"a": (1, 4), "luggage": (2, None)}
        return Fatal

    air.scripts["do a"] = [shows]
    assert air.fly().how is FlightEnd.UNDONE
    assert air.journal.meters == {"a": (1, 4), "luggage": (2, None)}


@pytest.mark.parametrize(
    "shows",
    [
        lambda flight: flight.progress(1, 2, name="sluice_step"),
        lambda flight: flight.progress(1, 2, name="SLUICE"),
        lambda flight: flight.progress(1, 2, name="x" * 201),
        lambda flight: flight.progress(1, 2, name="a\0b"),
        lambda flight: flight.progress(1, 2, name="\ud800"),
        lambda flight: flight.progress(2**63),
        lambda flight: flight.progress(float("inf")),
        lambda flight: flight.progress(float("nan")),
    ],
)
def test_an_invalid_meter_is_refused(shows: Callable[[Flight], Any]) -> None:
    air = Air("a", do_a=[shows])
    landing = air.fly()
    assert (landing.how, landing.failure and landing.failure.type) == (FlightEnd.UNDONE, "ValueError")
    assert air.journal.meters == {}
