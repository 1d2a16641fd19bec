"""Hooks: their calls, the order of these, and that failures of hooks have no effect on the flight."""

from typing import Any

import pytest

from sluice import Fatal, Retry, Stop, Wait, retry
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air


class Notes:
    """Hook that records its calls."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.told: list[str] = []

    def start_flight(self, flight: Any) -> None:
        self.told.append(f"{self.name}flight {flight.key}")

    def end_flight(self, flight: Any, landing: str) -> None:
        self.told.append(f"{self.name}{landing}")

    def start_step(self, flight: Any) -> None:
        self.told.append(f"{self.name}{'undo' if flight.undoing else 'do'} {flight.step} {flight.step_name}")

    def end_step(self, flight: Any, answer: str) -> None:
        self.told.append(f"{self.name}{answer}")


class Breaks:
    """Hook that raises this error in each method."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __repr__(self) -> str:
        raise self._error

    def _breaks(self, *_: Any) -> None:
        raise self._error

    start_flight = end_flight = start_step = end_step = _breaks


def _noted(air: Air) -> list[str]:
    notes = Notes()
    air.hooks = [notes]
    air.lands()
    return notes.told


def test_hooks_are_called_for_the_flight_and_for_each_step() -> None:
    assert _noted(Air("a b")) == ["flight ann", "do 0 a", "success", "do 1 b", "success", "succeeded"]


def test_hooks_are_called_for_each_undo() -> None:
    told = [
        "flight ann",
        "do 0 a",
        "success",
        "do 1 b",
        "fatal",
        "undo 1 b",
        "success",
        "undo 0 a",
        "success",
        "undone",
    ]
    assert _noted(Air("a b", do_b=[Fatal])) == told


def test_an_async_hook_is_not_created_and_the_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Dreams:
        async def start_step(self, flight: Any) -> None: ...

    def dreams(flight: Any) -> Dreams:
        return Dreams()

    air = Air("a")
    air.hooks = [dreams]
    assert air.lands().how is FlightEnd.SUCCEEDED
    assert (
        "dreams could not be created: TypeError: start_step is async, and hooks are not awaited"
        in caplog.text
    )


def test_hooks_are_called_for_each_try_of_a_step() -> None:
    air = Air("a", do_a=[Retry])
    air.rules["a"] = retry.fixed(0, 1)
    assert _noted(air) == ["flight ann", "do 0 a", "retry", "do 0 a", "success", "succeeded"]


def test_hooks_are_called_for_each_run_of_a_flight() -> None:
    told = ["flight ann", "do 0 a", "stop", "handed back", "flight ann", "do 1 b", "wait", "suspended"]
    assert _noted(Air("a b", do_a=[Stop], do_b=[Wait])) == told


def test_hooks_are_called_in_the_order_of_their_definition() -> None:
    told: list[str] = []
    one, other = Notes("1 "), Notes("2 ")
    one.told = other.told = told
    air = Air("a")
    air.hooks = [one, other]
    air.fly()
    assert told == [
        f"{which} {what}" for what in ("flight ann", "do 0 a", "success", "succeeded") for which in (1, 2)
    ]


def test_a_function_creates_one_hook_for_each_run() -> None:
    made: list[Notes] = []

    def make(flight: Any) -> Notes:
        made.append(Notes(f"{flight.claim} "))
        return made[-1]

    air = Air("a b", do_a=[Stop])
    air.hooks = [make]
    air.lands()
    assert [notes.told[0] for notes in made] == ["1 flight ann", "2 flight ann"]


def test_a_class_is_instantiated_as_a_hook_for_each_run() -> None:
    made: list[Any] = []

    class OfRun:
        def __init__(self, flight: Any) -> None:
            made.append(flight.claim)

        def end_flight(self, flight: Any, landing: str) -> None:
            made.append((flight.claim, landing))

    air = Air("a")
    air.hooks = [OfRun]
    air.fly()
    assert made == [1, (1, "succeeded")]


def test_a_hook_may_have_only_some_of_the_methods() -> None:
    class Ends:
        ended = ""

        def end_flight(self, flight: Any, landing: str) -> None:
            self.ended = landing

    air, hook = Air("a"), Ends()
    air.hooks = [hook, lambda _: None]
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert hook.ended == "succeeded"


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(1), KeyboardInterrupt(), Fatal("no"), Retry("no")], ids=repr
)
@pytest.mark.filterwarnings("ignore")
def test_an_exception_of_a_hook_is_logged_and_has_no_other_effect(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def cannot_be_made(_: Any) -> None:
        raise error

    air, notes = Air("a b", do_b=[Fatal]), Notes()
    air.hooks = [Breaks(error), cannot_be_made, notes]
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, undo b, undo a"
    assert notes.told[-1] == "undone"
    for what in (
        "the hook Breaks failed at start_flight",
        "cannot_be_made could not be created",
        "the hook Breaks failed at end_step",
    ):
        assert what in caplog.text


class NotToBeLookedAt:
    """Hook with an attribute that raises when it is read."""

    def start_flight(self, flight: Any) -> None: ...

    @property
    def end_step(self) -> Any:
        raise SystemExit("no")


class Wordless(Exception):
    def __str__(self) -> str:
        raise SystemExit("no words")


@pytest.mark.parametrize("hook", [NotToBeLookedAt(), Breaks(Wordless())], ids=["unlooked", "wordless"])
def test_a_hook_with_broken_attributes_or_error_texts_has_no_other_effect(
    hook: Any, caplog: pytest.LogCaptureFixture
) -> None:
    air, notes = Air("a", do_a=[Fatal]), Notes()
    air.hooks = [hook, notes]
    assert air.fly().how is FlightEnd.UNDONE
    assert notes.told[-1] == "undone"
    assert f"the hook {type(hook).__qualname__} failed at end_step" in caplog.text
