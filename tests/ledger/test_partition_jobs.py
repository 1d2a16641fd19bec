"""Partition steps in the ledger: their parents, their release, and the effects of a failure."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ledger.lineages import ask, days, end, lineage, needs, ready, states, there, times_made, work_off
from tests.world import World

#: Lineage in which each week of the aggregate reads the 90 days before it too.
QUARTER = lineage("staging, group_by*7: staging-90, join: group_by")
#: Lineage ``QUARTER``, except that the join reads the aggregate of the day before.
SNAPSHOT = QUARTER | {
    "join": {"bash_cmd": "true", "table_dependencies": [{"table": "group_by", "offset": 1}]}
}
#: Each step of the aggregate in April, and the first and last day that it reads.
APRIL = {
    "group_by/2024-04-01..2024-04-07": ("2024-01-02", "2024-04-07"),
    "group_by/2024-04-08..2024-04-14": ("2024-01-09", "2024-04-14"),
    "group_by/2024-04-15..2024-04-21": ("2024-01-16", "2024-04-21"),
    "group_by/2024-04-22..2024-04-28": ("2024-01-23", "2024-04-28"),
    "group_by/2024-04-29..2024-04-30": ("2024-01-30", "2024-04-30"),
}
WEEK = "group_by/2024-04-01..2024-04-07"


def _of(app: str, first: str, last: str) -> set[str]:
    return {f"{app}/{day}" for day in days(first, last)}


def test_the_weeks_of_a_month_share_the_daily_steps_of_a_quarter(world: World) -> None:
    world.define(QUARTER)
    id_ = ask(world, "join", "2024-04-01", "2024-04-30")
    staging = _of("staging", "2024-01-02", "2024-04-30")
    join = _of("join", "2024-04-01", "2024-04-30")
    assert len(staging) == 120
    assert states(world).keys() == {*staging, *APRIL, *join}
    waits = needs(world)
    assert {week: waits[week] for week in APRIL} == {
        week: _of("staging", *read) for week, read in APRIL.items()
    }
    assert [len(waits[week]) for week in APRIL] == [97, 97, 97, 97, 92]
    assert sum(len(waits[week]) for week in APRIL) == 480
    assert all(len(waits[day]) == 1 for day in join)
    assert all(f"join/{day}" in join for week in APRIL for day in days(*week.split("/")[1].split("..")))
    assert ready(world) == staging
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert set(times_made(world, "staging").values()) == {1}
    assert set(times_made(world, "group_by").values()) == {1}


def test_a_week_waits_for_its_seven_days_and_a_day_for_its_week(world: World) -> None:
    weekly = {
        "bash_cmd": "true",
        "partition": "week",
        "step_size": 2,
        "table_dependencies": [{"table": "staging"}],
    }
    report = {"bash_cmd": "true", "table_dependencies": [{"table": "weekly"}]}
    world.define(lineage("staging") | {"weekly": weekly, "report": report})
    id_ = ask(world, "weekly", "2026-W52", "2027-W01")
    assert needs(world) == {
        "weekly/2026-W52..2026-W53": _of("staging", "2026-12-21", "2027-01-03"),
        "weekly/2027-W01": _of("staging", "2027-01-04", "2027-01-10"),
    }
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert there(world, "weekly") == ["2026-W52", "2026-W53", "2027-W01"]
    ask(world, "report", "2027-01-09", "2027-01-12")
    assert ready(world) == _of("report", "2027-01-09", "2027-01-10") | _of(
        "staging", "2027-01-11", "2027-01-17"
    )
    assert needs(world)["report/2027-01-12"] == {"weekly/2027-W02"}


def test_each_week_waits_for_the_days_of_its_own_window(world: World) -> None:
    world.define(QUARTER)
    ask(world, "join", "2024-04-01", "2024-04-30")
    first, second, *_, last = APRIL

    def readers(day: str) -> list[str]:
        return [week for week in APRIL if f"staging/{day}" in needs(world)[week]]

    assert readers("2024-01-02") == [first]
    assert readers("2024-01-08") == [first]
    assert readers("2024-01-09") == readers("2024-01-15") == [first, second]
    assert readers("2024-01-30") == readers("2024-04-07") == [*APRIL]
    assert readers("2024-04-30") == [last]


def test_a_week_is_ready_once_all_days_that_it_reads_exist(world: World) -> None:
    world.define(QUARTER)
    ask(world, "join", "2024-04-01", "2024-04-30")
    for month in ("01", "02", "03"):
        work_off(world, only=f"staging/2024-{month}")
    for day in days("2024-04-01", "2024-04-07"):
        assert WEEK not in ready(world)
        end(world, f"staging/{day}")
    assert WEEK in ready(world)
    assert states(world)["staging/2024-04-08"] is State.READY
    end(world, WEEK)
    assert {name for name in ready(world) if name.startswith("join")} == _of(
        "join", "2024-04-01", "2024-04-07"
    )
    assert set(states(world, "group_by").values()) == {State.SUCCEEDED, State.WAITING}


def test_one_missing_day_keeps_a_week_waiting(world: World) -> None:
    world.define(QUARTER)
    ask(world, "join", "2024-04-01", "2024-04-07")
    staging = sorted(states(world, "staging"))
    for step in staging[1:]:
        end(world, step)
    assert states(world)[WEEK] is State.WAITING
    end(world, staging[0])
    assert ready(world) == {WEEK}


def test_a_failed_day_fails_only_the_steps_that_read_it(world: World) -> None:
    world.define(QUARTER)
    id_ = ask(world, "join", "2024-04-01", "2024-04-30")
    end(world, "staging/2024-01-05", Ending.ERROR)
    assert states(world)[WEEK] is State.UPSTREAM_FAILED
    dead = _of("join", "2024-04-01", "2024-04-07")
    assert {name for name, state in states(world, "join").items() if state is State.UPSTREAM_FAILED} == dead
    work_off(world)
    assert {week: states(world)[week] for week in [*APRIL][1:]} == dict.fromkeys(
        [*APRIL][1:], State.SUCCEEDED
    )
    assert there(world, "join") == days("2024-04-08", "2024-04-30")
    assert world.submission(id_) is SubmissionState.FAILED


def test_a_failed_day_that_all_weeks_read_fails_all_of_them(world: World) -> None:
    world.define(QUARTER)
    id_ = ask(world, "join", "2024-04-01", "2024-04-30")
    end(world, "staging/2024-04-05", Ending.ERROR)
    assert set(states(world, "group_by").values()) == {State.UPSTREAM_FAILED}
    assert set(states(world, "join").values()) == {State.UPSTREAM_FAILED}
    work_off(world)
    assert len(there(world, "staging")) == 119
    assert world.submission(id_) is SubmissionState.FAILED


def test_reading_the_day_before_moves_the_weeks_by_a_day(world: World) -> None:
    world.define(SNAPSHOT)
    ask(world, "join", "2024-04-01", "2024-04-30")
    weeks = [
        "group_by/2024-03-31..2024-04-06",
        "group_by/2024-04-07..2024-04-13",
        "group_by/2024-04-14..2024-04-20",
        "group_by/2024-04-21..2024-04-27",
        "group_by/2024-04-28..2024-04-29",
    ]
    assert sorted(states(world, "group_by")) == weeks
    assert states(world, "staging").keys() == _of("staging", "2024-01-01", "2024-04-29")
    waits = needs(world)
    assert waits["join/2024-04-01"] == waits["join/2024-04-07"] == {weeks[0]}
    assert waits["join/2024-04-08"] == {weeks[1]}


def test_june_2023_reads_the_90_days_before_it(world: World) -> None:
    world.define(QUARTER)
    ask(world, "join", "2023-06-01", "2023-06-30")
    assert states(world, "staging").keys() == _of("staging", "2023-03-03", "2023-06-30")
    assert sorted(states(world, "group_by")) == [
        "group_by/2023-06-01..2023-06-07",
        "group_by/2023-06-08..2023-06-14",
        "group_by/2023-06-15..2023-06-21",
        "group_by/2023-06-22..2023-06-28",
        "group_by/2023-06-29..2023-06-30",
    ]


@pytest.mark.parametrize(
    ("first", "last", "steps"),
    [
        ("2024-02-26", "2024-03-05", ["2024-02-26..2024-03-03", "2024-03-04..2024-03-05"]),
        ("2023-02-26", "2023-03-05", ["2023-02-26..2023-03-04", "2023-03-05"]),
        ("2024-04-03", "2024-04-05", ["2024-04-03..2024-04-05"]),
        ("2024-04-03", "2024-04-03", ["2024-04-03"]),
    ],
    ids=["over a leap day", "over no leap day", "shorter than a step", "one day"],
)
def test_steps_begin_at_the_start_of_the_range(world: World, first: str, last: str, steps: list[str]) -> None:
    world.define(lineage("g*7"))
    ask(world, "g", first, last)
    assert sorted(states(world)) == [f"g/{step}" for step in steps]


def test_half_a_year_has_26_weekly_steps(world: World) -> None:
    world.define(lineage("g*7"))
    ask(world, "g", "2024-01-01", "2024-06-28")
    steps = sorted(states(world))
    assert len(steps) == 26
    assert steps[-1] == "g/2024-06-24..2024-06-28"
