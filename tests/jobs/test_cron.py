"""Cron lines: their meaning, and the errors of invalid lines."""

from datetime import date

import pytest

from sluice.jobs.schedules.cron import Cron


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "'' has 0 fields; cron has five: minute hour day month weekday"),
        ("* * * *", "has 4 fields"),
        ("0 0 2 * * *", "has 6 fields"),
        ("60 * * * *", "minute: 60 is not from 0 to 59"),
        ("* 24 * * *", "hour: 24 is not from 0 to 23"),
        ("* * 0 * *", "day: 0 is not from 1 to 31"),
        ("* * * 13 *", "month: 13 is not from 1 to 12"),
        ("* * * * 8", "weekday: 8 is not from 0 to 7"),
        ("61 25 * * *", "minute: 61 is not from 0 to 59; hour: 25 is not from 0 to 23"),
        ("* * * decm *", "month: 'decm' is no month (did you mean dec?)"),
        ("* * * * mondy", "weekday: 'mondy' is no weekday (did you mean mon?)"),
        ("* x * * *", "hour: 'x' is no number"),
        ("*/0 * * * *", "minute: the step of '*/0' is not from 1 to 59"),
        ("*/60 * * * *", "minute: the step of '*/60' is not from 1 to 59"),
        ("30-10 * * * *", "minute: '30-10' ends before it begins; write it as two"),
        ("* * * * sat-mon", "weekday: 'sat-mon' ends before it begins"),
        ("1,,2 * * * *", "minute: '' is not like 5, 1-5, */5"),
        ("-5 * * * *", "minute: '-5' is not like"),
        ("٣ * * * *", "minute: '٣' is not like"),
        ("0 0 ? * 1", "day: '?' is not like"),
        ("0 0 30 2 *", "'0 0 30 2 *' never fires: none of its months has such a day"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("0 0 31 4 */2", "never fires"),
        ("@dayly", "@weekly, @daily, @midnight, @hourly (did you mean @daily?)"),
        ("@reboot", "@reboot is none of @yearly"),
    ],
)  # fmt: skip
def test_an_invalid_cron_line_is_refused_with_the_reason(line: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message differs by line
        Cron.parse(line)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("line", "days"),
    [
        # Days among the first 14 of February 2026, which begins on a Sunday.
        ("0 0 * * 0", [1, 8]),
        ("0 0 * * 7", [1, 8]),
        ("0 0 * * SUN", [1, 8]),
        ("0 0 * * 1-5", [2, 3, 4, 5, 6, 9, 10, 11, 12, 13]),
        ("0 0 * * fri-7", [1, 6, 7, 8, 13, 14]),
        ("0 0 * * 6-sun", [1, 7, 8, 14]),
        ("0 0 * * */2", [1, 3, 5, 7, 8, 10, 12, 14]),
        ("0 0 3,5 * *", [3, 5]),
        ("0 0 3,5 * 2", [3, 5, 10]),
        ("0 0 */5 * 5", [6]),
        ("0 0 3 * */2", [3]),
        ("0 0 30 2 mon", [2, 9]),
        ("0 0 8-14/3 feb *", [8, 11, 14]),
        ("0 0 last * *", []),
        ("0 0 * mar *", []),
    ],
)
def test_a_cron_line_selects_these_days(line: str, days: list[int]) -> None:
    cron = Cron.parse(line)
    assert [day for day in range(1, 15) if cron.serves(date(2026, 2, day))] == days


def test_l_selects_the_last_day_of_each_month() -> None:
    last = [day for day in Cron.parse("0 0 L * *").days_from(date(2027, 12, 1)) if day < date(2028, 5, 1)]
    assert [str(day) for day in last] == [
        "2027-12-31",
        "2028-01-31",
        "2028-02-29",
        "2028-03-31",
        "2028-04-30",
    ]


def test_leap_days_on_a_sunday_are_found_after_sixteen_years_without_one() -> None:
    assert str(next(Cron.parse("0 0 29 2 */7").days_from(date(2072, 3, 1)))) == "2088-02-29"
