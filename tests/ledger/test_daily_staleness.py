"""Staleness of partitions that are made from jobs with keys, compared with the contents that each one has read."""

from random import Random
from typing import Any

import pytest

from sluice.jobs.keys.calendar import Calendar
from tests.ledger.lineages import ask, days, named, stale, take, there, work_off
from tests.ledger.test_daily_tables import SHOPS
from tests.world import World

_DAYS = days("2024-04-01", "2024-04-07")
_CALENDAR = Calendar("day")
_STEPS = 16


class _Reads:
    """Runs of ``clean`` by day, and how many of them ``roll`` and ``join`` had read when they made each partition."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.runs = dict.fromkeys(_DAYS, 0)
        self._seen: dict[str, dict[str, Any]] = {"roll": {}, "join": {}}

    def roll(self, day: str) -> tuple[int, ...]:
        """Return the present runs of the days that this partition of ``roll`` reads."""
        before = _CALENDAR.write(_CALENDAR.read(day) - 1)
        return tuple(self.runs.get(each, 0) for each in (before, day))

    def made(self, app: str, partitions: list[str]) -> None:
        """Note that these partitions are made from the existing contents."""
        for day in partitions:
            self._seen[app][day] = self.roll(day) if app == "roll" else self._seen["roll"].get(day)

    def stale(self, app: str) -> list[str]:
        """Return the partitions that were made from other runs than the present ones."""
        return [day for day in there(self._world, app) if self._seen[app][day] != self.roll(day)]


def _run_again(world: World, reads: _Reads, random: Random) -> None:
    day = random.choice(_DAYS)
    key = f"{day.replace('-', '')}_{random.choice('go')}"
    if f"clean/{key}" in world.states():
        world.submit("clean", key, rerun="job")
        work_off(world, only="clean")
        reads.runs[day] += 1


def _make(world: World, reads: _Reads, random: Random, app: str) -> None:
    first, last = sorted(random.choices(range(1, len(_DAYS)), k=2))
    before = {each: {*there(world, each)} - {*stale(world, each)} for each in ("roll", "join")}
    ask(world, app, _DAYS[first], _DAYS[last])
    work_off(world)
    for each in ("roll", "join"):
        now = {*there(world, each)} - {*stale(world, each)}
        reads.made(each, sorted(now - before[each]))


def _run_during(world: World, reads: _Reads, random: Random) -> None:
    """Run a job of ``clean`` again while a step of ``roll`` that reads its day runs."""
    day = random.choice(_DAYS[1:])
    if day in there(world, "roll"):
        ask(world, "roll", day, rerun="job")
        claimed = take(world, f"roll/{day}")
        reads.made("roll", [day])
        world.tick(after_s=1)
        _run_again_on(world, reads, day)
        world.record(claimed)
        world.deliver()
        assert named(world, f"roll/{day}")


def _run_again_on(world: World, reads: _Reads, day: str) -> None:
    world.submit("clean", f"{day.replace('-', '')}_g", rerun="job")
    work_off(world, only="clean")
    reads.runs[day] += 1


@pytest.mark.parametrize("seed", range(3))
def test_exactly_what_was_made_from_earlier_runs_is_stale(world: World, seed: int) -> None:
    random = Random(seed)
    world.define(SHOPS)
    reads = _Reads(world)
    for _ in range(_STEPS):
        world.tick(after_s=1)
        match random.randrange(5):
            case 0 | 1:
                _run_again(world, reads, random)
            case 2:
                _make(world, reads, random, "roll")
            case 3:
                _make(world, reads, random, "join")
            case 4:
                _run_during(world, reads, random)
        assert {app: stale(world, app) for app in ("roll", "join")} == {
            app: reads.stale(app) for app in ("roll", "join")
        }
