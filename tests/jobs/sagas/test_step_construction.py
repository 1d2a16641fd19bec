"""The steps are made again whenever a worker picks up a flight, and must match its journal."""

from typing import Any

import pytest

from sluice import Fatal, Step, Stop, retry
from sluice.jobs.sagas.journal import Failure
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air

# Steps that cannot be made.


def _built(made: Any) -> str:
    air = Air()
    air.build = lambda _: made() if callable(made) and not isinstance(made, type) else made
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert air.journal.entries == []
    return str(landing.failure)


class Named(Step):
    def __init__(self, name: Any) -> None:
        self.name = name


class Unruled(Step):
    def __init__(self, rule: Any) -> None:
        self.retry = rule


class Nameless(Step):
    @property
    def name(self) -> str:
        raise SystemExit("no name")


class NoWords:
    def __repr__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (None, "Unbuildable: it returned None, which is no list of steps"),
        ("steps", "Unbuildable: it returned 'steps', which is no list of steps"),
        (
            [Step],
            "Unbuildable: it returned [<class 'sluice.jobs.sagas.step.Step'>], which is no list of steps",
        ),
        ([Step(), None], "None], which is no list of steps"),
        (iter([Step()]), "which is no list of steps"),
        ([Named("")], "Unbuildable: '' is no name of a step; it has 1 to 200 characters"),
        ([Named("x" * 201)], "is no name of a step"),
        ([Named(7)], "Unbuildable: 7 is no name of a step"),
        ([Named("a\0")], "Unbuildable: a step cannot have this name"),
        ([Named("\ud800")], "Unbuildable: a step cannot have this name"),
        ([Nameless()], "SystemExit: no name"),
        ([Step(), Unruled(None)], "Unruled has None as its retry, which is no rule; write retry.fixed(…)"),
        ([Unruled(retry.exponential(1))], "the retry of Unruled has no end; add times or within"),
        ([Unruled(retry.fixed)], "which is no rule; write retry.fixed(…)"),
        ([Unruled(3)], "Unbuildable: Unruled has 3 as its retry"),
        ([NoWords()], "ValueError: no words"),
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_saga_without_a_valid_list_of_steps_fails(made: Any, told: str) -> None:
    assert told in _built(made)


# Steps that cannot be made again.


def test_a_flight_that_never_began_fails_like_any_job() -> None:
    air = Air("a")
    air.build = lambda _: _raise(LookupError("no such customer"))
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "LookupError: no such customer")
    assert air.journal.entries == []


def test_a_flight_with_a_first_step_that_may_have_run_becomes_fatal(caplog: pytest.LogCaptureFixture) -> None:
    """The journal has no entry of the step, because the worker died in it."""
    air = Air("a")
    air.scripts["do a"] = [air.crash]
    assert air.fly().how is FlightEnd.LOST
    assert air.journal.entries == []
    mended = air.build
    air.build = lambda _: _raise(LookupError("no such customer"))
    landing = air.fly()
    assert (landing.how, landing.failure) == (FlightEnd.UNDO_FAILED, None)
    assert str(landing.trouble) == (
        "LookupError: no such customer"
        " (it had started before, and the effects of its first step are not recorded in the journal)"
    )
    assert "DISMAL FAILURE: the saga cannot be resumed: LookupError" in caplog.text
    air.build = mended
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do a"


def _unbuildable(air: Air) -> None:
    air.build = lambda _: _raise(LookupError("no such customer"))


def _without_context(air: Air) -> None:
    air.context = lambda: _raise(OSError("no such desk"))


def _other_steps(air: Air) -> None:
    air.steps = "x a b c"


def _fewer_steps(air: Air) -> None:
    air.steps = ""


def _swapped_steps(air: Air) -> None:
    """Keep the step at which the flight is, and replace a step that would be undone."""
    air.steps = "x b c"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (_unbuildable, "LookupError: no such customer"),
        (_without_context, "OSError: no such desk"),
        (_other_steps, "Unbuildable: its journal has a as step 0, but its steps are now x, a, b, c"),
        (_fewer_steps, "Unbuildable: its journal has a as step 0, but its steps are now none"),
        (_swapped_steps, "Unbuildable: its journal has a as step 0, but its steps are now x, b, c"),
    ],
)
def test_a_begun_flight_with_unbuildable_steps_is_fatal_until_it_is_fixed(
    changes: Any, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    air = Air("a b c", do_b=[Stop])
    air.fly()
    before = air.journal.entries.copy()
    build = air.build
    changes(air)
    landing = air.fly()
    assert (landing.how, str(landing.trouble)) == (FlightEnd.UNDO_FAILED, told)
    assert air.journal.entries == before
    assert f"DISMAL FAILURE: the saga cannot be resumed: {told}" in caplog.text
    air.build, air.context, air.steps = build, None, "a b c"
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do c"


def test_the_reason_of_an_undo_is_kept_if_the_steps_become_unbuildable() -> None:
    air = Air("a", do_a=[Fatal("full")])
    air.scripts["undo a"] = [air.crash]
    air.fly()
    _unbuildable(air)
    assert air.fly().failure == Failure(type="Fatal", message="full", step="a")


def test_steps_that_the_flight_has_not_reached_may_change() -> None:
    air = Air("a b", do_a=[Stop])
    air.fly()
    air.steps = "a x y"
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do x, do y"


def test_the_list_of_steps_may_depend_on_the_inputs() -> None:
    air = Air()
    build = air.build

    def chooses(flight: Any) -> Any:
        air.steps = "a b c" if flight.inputs["insured"] else "a c"
        return build(flight)

    air.build = chooses
    air.kwargs = {"insured": True}
    air.scripts["do a"] = [Stop]
    air.fly()
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do c"


def test_a_later_change_of_the_returned_list_has_no_effect() -> None:
    air, made = Air("a b"), list[Any]()
    build = air.build

    def builds(flight: Any) -> Any:
        made[:] = build(flight)
        return made

    air.build = builds
    air.scripts["do a"] = [lambda _: made.clear()]
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b"


def _raise(error: BaseException) -> Any:
    raise error
