"""A simulated year of schedules in three time zones, with restarts at random times, and tests of its check."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.scheduler import due_times, evaluate
from sluice.scheduler.misfires import Passed
from tests.simulation.year import Year
from tests.simulation.year_check import check

FIRST, SPRING, END = (datetime(*day, tzinfo=UTC) for day in ((2026, 1, 1), (2026, 4, 10), (2027, 1, 1)))


@pytest.fixture
def year(ledger_url: str, tmp_path: Path) -> Iterator[Year]:
    made = Year(ledger_url, 1, tmp_path, FIRST, END)
    yield made
    made.close()


@pytest.fixture
def months(ledger_url: str, tmp_path: Path) -> Iterator[Year]:
    """Yield the first hundred days of a year.

    Clocks are changed in all three zones. With this seed, a rule is edited while due times of it have passed that no
    check has handled; not every seed has that.
    """
    made = Year(ledger_url, 6, tmp_path, FIRST, SPRING)
    yield made
    made.close()


def test_each_due_time_of_a_year_is_fired_once_or_explained_by_its_policy(year: Year) -> None:
    year.run()
    assert check(year) > 3000


def test_the_check_notices_missing_daylight_saving_changes(
    months: Year, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_times, "instant_of", lambda wall, zone: wall.replace(tzinfo=zone).astimezone(UTC))
    months.run()
    with pytest.raises(AssertionError):
        check(months)


def test_the_check_notices_if_due_times_of_the_old_rule_are_dropped(
    months: Year, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "passed_by_old_rule", lambda *_: Passed([], None))
    months.run()
    with pytest.raises(AssertionError):
        check(months)
