"""Wrong tokens: the pause before each answer, and the lines in the log."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request
from sluice.ops.console.login_throttle import (
    FORGOTTEN_AFTER,
    LINES_MAX,
    PAUSE_S,
    PAUSE_S_MAX,
    TOLD_EVERY,
    WAIT_S_MAX,
    Refusals,
)

ADDRESS = "192.0.2.7"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def goes_on(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_pause_grows_with_each_wrong_token(clock: Clock) -> None:
    refusals = Refusals(clock)
    waits = []
    for _ in range(7):
        waits.append(refusals.refused(ADDRESS))
        clock.goes_on(waits[-1])
    assert waits == [0.25, 0.5, 1.0, 2.0, PAUSE_S_MAX, PAUSE_S_MAX, PAUSE_S_MAX]
    clock.goes_on(FORGOTTEN_AFTER.total_seconds() + 1)
    assert refusals.refused(ADDRESS) == PAUSE_S


def test_simultaneous_wrong_tokens_of_all_clients_are_answered_one_after_another(clock: Clock) -> None:
    refusals = Refusals(clock)
    waits = [refusals.refused(f"192.0.2.{n}") for n in range(6)]
    assert waits == [0.25, 0.75, 1.75, 3.75, 7.75, WAIT_S_MAX]


def test_the_log_has_each_address_once_per_period(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    refusals = Refusals(clock)
    for address in (ADDRESS, ADDRESS, "192.0.2.8", ADDRESS):
        refusals.refused(address)
    told = [f"a token was refused, from {address}" for address in (ADDRESS, "192.0.2.8")]
    assert [record.getMessage() for record in caplog.records] == told
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    clock.goes_on(TOLD_EVERY.total_seconds())
    refusals.refused(ADDRESS)
    assert [record.getMessage() for record in caplog.records] == [*told, told[0]]


def test_the_number_of_log_lines_per_period_is_limited(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = Refusals(clock)
    for n in range(1001):
        refusals.refused(f"10.0.{n // 256}.{n % 256}")
    assert len(caplog.records) == LINES_MAX
    clock.goes_on(TOLD_EVERY.total_seconds())
    for _ in range(2):
        refusals.refused("10.0.0.0")
    assert len(caplog.records) == LINES_MAX + 1


def test_a_request_without_a_token_is_answered_without_a_pause(clock: Clock) -> None:
    gate = AccessControl("a word", clock=clock)
    asked = Request(method="GET", path="/api/session", headers={"cookie": "theme=dark"}, address=ADDRESS)
    assert gate.stranger(asked).after_s == 0.0
    guessed = Request(
        method="GET", path="/api/session", headers={"authorization": "Bearer a"}, address=ADDRESS
    )
    assert gate.stranger(guessed).after_s == PAUSE_S
    assert gate.wrong_token(asked).after_s > PAUSE_S
