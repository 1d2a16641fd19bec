"""Log of an outage: one line at its start, one at its end, whatever the parts of a process report meanwhile."""

import logging

import pytest

from sluice.jobs.errors import Unreachable
from sluice.jobs.observe.outages import LATE_S, LENGTH_MAX, OutageLog, missed, muted


class WatchedOutages:
    """Outage log with a passed clock, and the lines that it has written."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG, "sluice.outages")
        self.now = 100.0
        self.log = OutageLog("the ledger postgresql://db/sluice", lambda: self.now)
        self._caplog = caplog

    def lines(self, *, least: int = logging.INFO) -> list[tuple[str, str]]:
        found = [each for each in self._caplog.records if each.levelno >= least]
        self._caplog.clear()
        return [(each.levelname, each.getMessage()) for each in found]

    def error(self) -> Unreachable:
        error = Unreachable("The ledger does not answer: refused.")
        error.outages = self.log
        return error


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> WatchedOutages:
    return WatchedOutages(caplog)


START = (
    "WARNING",
    "the ledger postgresql://db/sluice is unreachable; work that needs it waits, and attempts are repeated: refused",
)


def test_an_outage_has_two_lines_with_the_totals_of_what_it_prevented(watched: WatchedOutages) -> None:
    for part in ("", "heartbeat", "heartbeat", ""):
        watched.log.failed("refused", part=part)
        missed(watched.error(), "results recorded late", 3)
        missed(watched.error(), "messages handled again later")
    watched.now += 73.2
    watched.log.answered()
    watched.log.answered(part="heartbeat")
    watched.log.answered(part="heartbeat")
    assert watched.lines() == [
        START,
        (
            "INFO",
            (
                "the ledger postgresql://db/sluice answers again, after 73.2 s;"
                " messages handled again later: 4; results recorded late: 12"
            ),
        ),
    ]


def test_an_outage_lasts_until_every_part_that_failed_was_answered(watched: WatchedOutages) -> None:
    watched.log.failed("refused", part="a")
    watched.log.failed("refused", part="b")
    watched.log.answered(part="a")
    watched.log.answered(part="c")
    assert watched.log.is_open
    watched.log.failed("refused", part="a")
    watched.log.answered(part="b")
    watched.log.answered(part="a")
    assert not watched.log.is_open
    assert len(watched.lines()) == 2


def test_errors_that_arrive_late_begin_no_outage_and_later_ones_do(watched: WatchedOutages) -> None:
    watched.log.failed("refused")
    watched.log.answered()
    watched.now += LATE_S / 2
    watched.log.failed("late")
    missed(watched.error(), "results recorded late")
    assert [level for level, _ in watched.lines()] == ["WARNING", "INFO"]
    watched.now += LATE_S / 2
    watched.log.failed("refused")
    assert watched.lines() == [START]


def test_work_that_is_missed_outside_of_an_outage_is_logged_at_once(watched: WatchedOutages) -> None:
    missed(watched.error(), "results recorded late", 2)
    missed(Unreachable("It is full."), "notifications not sent")
    assert watched.lines() == [
        ("WARNING", "results recorded late (2): The ledger does not answer: refused."),
        ("WARNING", "notifications not sent (1): It is full."),
    ]


def test_work_is_counted_only_during_an_outage(watched: WatchedOutages) -> None:
    assert not watched.log.count("jobs handed back", 2)
    watched.log.failed("refused")
    assert watched.log.count("jobs handed back", 3)
    watched.log.answered()
    assert not watched.log.count("jobs handed back", 4)
    (_, (_, ended)) = watched.lines()
    assert ended.endswith("; jobs handed back: 3")


def test_totals_are_of_one_outage(watched: WatchedOutages) -> None:
    for _ in range(2):
        watched.now += LATE_S
        watched.log.failed("refused")
        missed(watched.error(), "results recorded late")
        watched.log.answered()
    ends = [line for level, line in watched.lines() if level == "INFO"]
    assert [end.endswith("; results recorded late: 1") for end in ends] == [True, True]


def test_an_error_that_a_person_must_correct_has_a_line_of_its_own_once(watched: WatchedOutages) -> None:
    watched.log.failed("refused")
    refused = Unreachable("The ledger's database refuses the password of the role a.", advice="Correct it.")
    refused.needs_action = True
    for _ in range(3):
        watched.log.failed(refused)
    assert watched.lines() == [
        START,
        (
            "ERROR",
            (
                "the ledger postgresql://db/sluice refuses this process:"
                " The ledger's database refuses the password of the role a. Correct it."
            ),
        ),
    ]


def test_a_long_error_is_one_short_line(watched: WatchedOutages) -> None:
    watched.log.failed("a line\n\tand\n" + LENGTH_MAX * "x")
    ((_, line),) = watched.lines()
    assert "\n" not in line
    assert len(line) < LENGTH_MAX + 150


def test_a_caller_that_logs_an_outage_itself_mutes_it(watched: WatchedOutages) -> None:
    with muted():
        watched.log.failed("refused")
    assert watched.lines() == []
    watched.log.failed("refused")
    assert watched.lines() == [START]
