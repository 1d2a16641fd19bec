"""Retry rules: when a step that answers ``Retry`` is tried again, and when it has failed."""

from collections.abc import Callable
from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Success, retry
from sluice.jobs.policy.retry_delay import Rule
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, Raised


def _pauses(
    rule: Rule, *, took_s: float = 0.0, chances: tuple[float, ...] = (0.5,), at_most: int = 12
) -> list[float]:
    """Return the pauses, in seconds, between the tries of a step that always fails and takes ``took_s`` each time."""
    now_s, pauses = 1000.0, list[float]()
    counting = rule.begin(now_s)
    for number in range(at_most):
        now_s += took_s
        pause_s = counting.next_s(now_s, chances[number % len(chances)])
        if pause_s is None:
            break
        pauses.append(pause_s)
        now_s += pause_s
    return pauses


@pytest.mark.parametrize(
    ("rule", "pauses"),
    [
        (retry.none(), []),
        (retry.fixed(seconds=2, times=0), []),
        (retry.fixed(seconds=2, times=4), [2, 2, 2, 2]),
        (retry.fixed(seconds="250ms", times=1), [0.25]),
        (retry.exponential(2, 100, 10), [2, 4, 8]),
        (retry.exponential(2, 4, 13), [2, 4, 4, 4]),
        (retry.exponential(1, 100, 0), [1]),
        (retry.exponential(8, 2, 9), [8, 2]),
        (retry.exponential("1m", "1h", "7m"), [60, 120, 240, 480]),
    ],
)
def test_a_rule_results_in_these_pauses(rule: Rule, pauses: list[float]) -> None:
    assert _pauses(rule) == pauses


def test_a_random_rule_draws_whole_multiples_below_its_concurrency() -> None:
    rule = retry.random("500ms", concurrency=5, times=6)
    assert _pauses(rule, chances=(0.0, 0.19, 0.2, 0.5, 0.99, 0.999999)) == [0, 0, 0.5, 1, 2, 2]


def test_a_random_rule_with_a_concurrency_of_one_does_not_wait() -> None:
    assert _pauses(retry.random(9, concurrency=1, times=2), chances=(0.0, 0.99)) == [0, 0]


def test_an_exponential_rule_includes_the_duration_of_the_step() -> None:
    """After three tries of 2 s and pauses of 2 and 4 s, 12 s have passed, which is more than the limit of 10 s."""
    assert _pauses(retry.exponential(2, 100, 10), took_s=2) == [2, 4]


def test_an_exponential_rule_checks_its_time_limit_before_a_pause() -> None:
    assert _pauses(retry.exponential(2, 100, 6)) == [2, 4, 8]


def test_a_rule_has_no_limit_other_than_its_own() -> None:
    assert len(_pauses(retry.exponential(0, 0, 1), at_most=500)) == 500


@pytest.mark.parametrize(
    "make",
    [
        lambda: retry.fixed(seconds=-1, times=1),
        lambda: retry.fixed(seconds=1, times=-1),
        lambda: retry.fixed(seconds=1, times=1.5),
        lambda: retry.fixed(seconds="soon", times=1),
        lambda: retry.random(seconds=1, concurrency=0, times=1),
        lambda: retry.exponential(1, float("nan"), 1),
        lambda: retry.exponential(1, 1, float("inf")),
    ],
)
def test_an_invalid_rule_is_refused(make: Callable[[], Rule]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        make()


def test_rules_are_immutable_and_compare_by_value() -> None:
    assert retry.fixed(seconds="2s", times=4) == retry.fixed(seconds=2.0, times=4)
    with pytest.raises(AttributeError):
        retry.none().times = 3


def _air(rule: Rule, steps: str = "a", **scripted: Any) -> Air:
    air = Air(steps, **scripted)
    air.rules = dict.fromkeys(steps.split(), rule)
    return air


@pytest.mark.parametrize(
    ("rule", "failures", "tries", "how"),
    [
        (retry.fixed(2, 4), 2, 3, FlightEnd.SUCCEEDED),
        (retry.fixed(2, 3), 100, 4, FlightEnd.UNDONE),
        (retry.exponential(1, 100, 100), 2, 3, FlightEnd.SUCCEEDED),
        (retry.exponential(2, 100, 10), 4, 4, FlightEnd.UNDONE),
        (retry.exponential(2, 4, 100), 4, 5, FlightEnd.SUCCEEDED),
        (retry.random("500ms", 5, 3), 4, 4, FlightEnd.UNDONE),
        (retry.none(), 1, 1, FlightEnd.UNDONE),
    ],
)
def test_a_step_is_tried_as_often_as_its_rule_allows(
    rule: Rule, failures: int, tries: int, how: FlightEnd
) -> None:
    air = _air(rule, do_a=[Retry] * failures)
    air.now_s = 1000.0
    assert air.fly().how is how
    assert air.calls.count("do a") == tries


def test_pauses_have_the_duration_of_the_rule() -> None:
    air = _air(retry.fixed(seconds=2, times=3), do_a=[Retry] * 4)
    air.fly()
    assert air.now_s == 6


def test_a_long_pause_is_divided_into_short_ones() -> None:
    air = _air(retry.fixed(seconds="10m", times=1), do_a=[Retry])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.now_s == 600
    assert max(air.pauses) <= 2


@pytest.mark.parametrize("answer", [Retry, Retry("busy"), Raised(Retry("busy"))])
def test_retry_may_be_returned_or_raised(answer: Any) -> None:
    air = _air(retry.fixed(0, 3), do_a=[answer] * 2)
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.calls == ["do a"] * 3


def test_the_delay_of_a_retry_answer_changes_only_the_pause() -> None:
    air = _air(
        retry.fixed(seconds=2, times=2), do_a=[Retry("busy", after="1m"), Retry("busy"), Retry(after=5)]
    )
    assert air.fly().how is FlightEnd.UNDONE
    assert air.now_s == 62


def test_a_step_is_not_retried_after_another_exception() -> None:
    air = _air(retry.fixed(0, 3), do_a=[Raised(ConnectionError("reset"))])
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, undo a"


def test_the_failure_of_a_step_is_that_of_its_last_try() -> None:
    air = _air(retry.fixed(0, 3), do_a=[Retry(f"e{each}") for each in range(4)])
    assert str(air.fly().failure) == "Retry: e3 (tried 4 times)"
    assert air.called == "do a, do a, do a, do a, undo a"


def test_a_step_without_a_rule_is_tried_once() -> None:
    assert str(_air(retry.none(), do_a=[Retry("busy")]).fly().failure) == "Retry: busy (tried once)"


def test_nothing_is_undone_or_written_between_two_tries() -> None:
    air = _air(retry.fixed(0, 9), do_a=[Retry] * 5)
    air.fly()
    assert air.journal.lines == ["do 0 done"]
    assert air.calls == ["do a"] * 6


def test_steps_with_the_same_rule_count_their_tries_separately() -> None:
    air = _air(retry.fixed(0, 2), "a b", do_a=[Retry] * 2, do_b=[Retry] * 2)
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.calls == ["do a"] * 3 + ["do b"] * 3


def test_an_undo_has_its_own_tries() -> None:
    air = _air(retry.fixed(0, 2), do_a=[Retry] * 3, undo_a=[Retry] * 2)
    assert air.fly().how is FlightEnd.UNDONE
    assert air.calls == ["do a"] * 3 + ["undo a"] * 3


def test_each_pass_of_a_loop_has_its_own_tries() -> None:
    air = _air(retry.fixed(0, 1), do_a=[Retry, Rerun, Retry, Rerun, Retry, Success])
    assert air.fly().how is FlightEnd.SUCCEEDED


def test_an_undo_fails_after_its_last_try() -> None:
    air = _air(retry.fixed(0, 2), do_a=[Fatal("full")], undo_a=[Retry("closed")] * 9)
    landing = air.fly()
    assert landing.how is FlightEnd.UNDO_FAILED
    assert str(landing.trouble) == "Retry: closed (tried 3 times)"
    assert air.calls == ["do a", *["undo a"] * 3]


def test_flights_with_the_same_rule_count_their_tries_separately() -> None:
    rule = retry.fixed(0, 2)
    one, other = (_air(rule, do_a=[Retry] * 2) for _ in range(2))
    other.scripts["do a"][1:] = [lambda _: _flies(one)]
    assert other.fly().how is FlightEnd.SUCCEEDED


def _flies(air: Air) -> type[Retry]:
    assert air.fly().how is FlightEnd.SUCCEEDED
    return Retry


class _Own:
    """User-defined rule. ``begins`` and ``pause`` are the values that its methods return or raise."""

    def __init__(self, begins: Any = None, pause: Any = None) -> None:
        self._begins = begins
        self._pause = pause

    def begin(self, now_s: float) -> Any:  # The signature of rules.
        return _told(self._begins) or self

    def next_s(self, now_s: float, chance: float) -> Any:  # The signature of rules.
        return _told(self._pause)


def _told(what: Any) -> Any:
    if isinstance(what, BaseException):
        raise what
    return what


@pytest.mark.parametrize(
    ("rule", "failure"),
    [
        (_Own(begins=ValueError("no")), "ValueError: no"),
        (_Own(pause=ValueError("no")), "ValueError: no"),
        (_Own(pause=SystemExit(3)), "SystemExit: 3"),
        (_Own(pause=-1), "ValueError: -1 is not a duration"),
        (_Own(pause=float("nan")), "ValueError: nan is not a duration"),
        (_Own(pause=[2]), "AttributeError: 'list' object has no attribute 'strip'"),
    ],
)
def test_a_faulty_user_defined_rule_fails_its_step(rule: Any, failure: str) -> None:
    air = _air(rule, do_a=[Retry])
    landing = air.fly()
    assert str(landing.failure).startswith(failure)
    assert landing.how is (
        FlightEnd.UNDONE if isinstance(rule, _Own) and not rule._begins else FlightEnd.UNDO_FAILED
    )


def test_a_user_defined_rule_is_followed() -> None:
    air = _air(_Own(pause="90s"), do_a=[Retry, Retry])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.now_s == 180
