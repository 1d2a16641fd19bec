"""Answers of a step, and the effect of any other returned value or exception."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Stop, Success, Wait, retry
from sluice.jobs.sagas.answers import Answer, read_answer
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, Raised


class Busy(Retry):
    """Subclass of an answer, defined by the user."""


class NoText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text either")


class NoWords:
    def __repr__(self) -> str:
        raise SystemExit("no words")


@pytest.mark.parametrize("answer", [Success, Retry, Fatal, Rerun, Wait, Stop, Busy])
def test_an_answer_may_be_a_class_or_an_instance(answer: type[Answer]) -> None:
    assert type(read_answer(answer)) is answer
    instance = answer()
    assert read_answer(instance) is instance


def test_none_means_success() -> None:
    assert type(read_answer(None)) is Success


@pytest.mark.parametrize(
    "returned", [True, False, 0, "success", {}, Answer, Answer(), Exception, ValueError("x"), int]
)
@pytest.mark.parametrize("direction", ["do", "undo"])
def test_any_other_returned_value_is_a_failure(returned: Any, direction: str) -> None:
    air = Air("a", **({"do_a": [lambda _: returned]} if direction == "do" else {"do_a": [Fatal]}))
    if direction == "undo":
        air.scripts["undo a"] = [lambda _: returned]
    landing = air.fly()
    failure = landing.failure if direction == "do" else landing.trouble
    assert landing.how is (FlightEnd.UNDONE if direction == "do" else FlightEnd.UNDO_FAILED)
    assert failure is not None
    assert failure.type == "TypeError"
    assert failure.message.endswith(
        "which is no answer; return one of Success, Retry, Fatal, Rerun, Wait, Stop, or None for Success"
    )


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(0),
        KeyboardInterrupt(),
        MemoryError(),
        GeneratorExit(),
        RecursionError("deep"),
        asyncio.CancelledError(),
        BaseExceptionGroup("several", [SystemExit(1), ValueError("x")]),
        StopIteration(3),
        NoText(),
        ValueError("a\0b \ud800"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_exception_fails_the_step_but_not_the_worker(error: BaseException) -> None:
    air = Air("a b", do_b=[Raised(error)])
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert air.called == "do a, do b, undo b, undo a"
    assert landing.failure is not None
    assert landing.failure.type.endswith(type(error).__name__)
    assert "\0" not in landing.failure.message + landing.failure.traceback
    assert (landing.failure.message + landing.failure.traceback).encode()


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), ValueError("x")])
def test_any_exception_in_an_undo_makes_the_undo_fail(error: BaseException) -> None:
    air = Air("a", do_a=[Fatal], undo_a=[Raised(error)])
    assert air.fly().how is FlightEnd.UNDO_FAILED


def test_an_answer_with_a_broken_repr_fails_its_step() -> None:
    landing = Air("a", do_a=[lambda _: NoWords()]).fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "SystemExit: no words")


def test_a_long_error_message_is_truncated() -> None:
    failure = Air("a", do_a=[Raised(ValueError("x" * 10_000_000))]).fly().failure
    assert failure is not None
    assert len(failure.message) < 40_000
    assert len(failure.traceback) < 40_000


def test_a_step_may_be_async() -> None:
    async def waits(_: Any) -> type[Answer]:
        await asyncio.sleep(0)
        return Stop

    async def fails(_: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("x")

    air = Air("a b", do_a=[waits], do_b=[fails])
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert str(air.fly().failure) == "ValueError: x"


def test_a_step_that_is_a_generator_fails() -> None:
    def yields(_: Any) -> Iterator[None]:
        yield

    failure = Air("a", do_a=[yields]).fly().failure
    assert failure is not None
    assert "which is no answer" in failure.message


def test_a_subclass_of_an_answer_counts_as_that_answer() -> None:
    air = Air("a", do_a=[Busy("later"), Raised(Busy("later")), Busy])
    air.rules["a"] = retry.fixed(0, 3)
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.calls == ["do a"] * 4
