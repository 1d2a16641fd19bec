"""Outdated jobs that read tables, compared with a record of what each job has read."""

from random import Random

import pytest

from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.model.submission import SubmissionState
from tests.ledger.lineages import ask, days, stale, there, work_off
from tests.ledger.test_table_readers import SHOPS, rounds, stale_days
from tests.world import World

_DAYS = days("2024-04-01", "2024-04-06")
_CALENDAR = Calendar("day")
_STEPS = 14
#: Content of a partition: number of its makings.
Content = int


class _Record:
    """Runs of ``load`` by day, contents of ``rates``, and what each job of ``price`` has read."""

    def __init__(self) -> None:
        self.loads = dict.fromkeys(_DAYS, 0)
        self.rates: dict[str, tuple[Content, int]] = {}
        self.read: dict[str, list[Content]] = {}
        self._makings = 0

    def stale_rates(self) -> set[str]:
        return {day for day, (_, loads) in self.rates.items() if loads != self.loads[day]}

    def make_rates(self, made: set[str]) -> None:
        for day in made:
            self._makings += 1
            self.loads[day] = self.loads[day] or 1
            self.rates[day] = (self._makings, self.loads[day])

    def to_run(self, wanted: list[str]) -> set[str]:
        """Return the jobs of ``price`` that must run if these days are requested."""
        return {
            f"price/{day.replace('-', '')}_{shop}"
            for day in wanted
            for shop in "go"
            if self.is_outdated(f"price/{day.replace('-', '')}_{shop}", day)
        }

    def is_outdated(self, job: str, day: str) -> bool:
        return job not in self.read or bool(
            self.stale_rates().intersection(reads(day)) or self.read[job] != self.contents(day)
        )

    def contents(self, day: str) -> list[Content]:
        return [self.rates[each][0] for each in reads(day)]


def reads(day: str) -> list[str]:
    """Return the partitions of ``rates`` that the jobs of a day read."""
    return [_CALENDAR.write(_CALENDAR.read(day) - 1), day]


def _run_load_again(world: World, record: _Record, random: Random) -> None:
    day = random.choice([day for day in _DAYS if record.loads[day]] or [""])
    if day:
        world.submit("load", f"{day.replace('-', '')}_{random.choice('go')}", rerun="job", push="wanted")
        work_off(world, only="load")
        record.loads[day] += 1


def _make_rates(world: World, record: _Record, random: Random, *, again: bool) -> None:
    first, last = sorted(random.choices(_DAYS, k=2))
    wanted = days(first, last)
    asked = {"rerun": "job"} if again else {}
    ask(world, "rates", first, last, **asked)
    work_off(world)
    record.make_rates(
        {day for day in wanted if again or day not in record.rates or day in record.stale_rates()}
    )


def _run_price(world: World, record: _Record, random: Random) -> None:
    first, last = sorted(random.choices(_DAYS[1:], k=2))
    wanted = days(first, last)
    running = record.to_run(wanted)
    needed = {each for name in running for each in reads(_day_of(name))}
    record.make_rates({day for day in needed if day not in record.rates or day in record.stale_rates()})
    before = rounds(world, "price")
    id_ = world.submit("price", None, start=first, end=last)
    work_off(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    now = rounds(world, "price")
    assert {name for name in now if now[name] != before.get(name, 0)} == running
    for name in running:
        record.read[name] = record.contents(_day_of(name))


def _day_of(name: str) -> str:
    key = name.removeprefix("price/")
    return f"{key[:4]}-{key[4:6]}-{key[6:8]}"


@pytest.mark.parametrize("seed", range(4))
def test_exactly_the_jobs_that_have_read_other_contents_run_again(world: World, seed: int) -> None:
    random = Random(seed)
    world.define(SHOPS)
    record = _Record()
    for _ in range(_STEPS):
        world.tick(after_s=1)
        match random.randrange(5):
            case 0:
                _run_load_again(world, record, random)
            case 1:
                _make_rates(world, record, random, again=False)
            case 2:
                _make_rates(world, record, random, again=True)
            case _:
                _run_price(world, record, random)
        assert set(stale(world, "rates")) == record.stale_rates()
        assert set(there(world, "rates")) == record.rates.keys()
    made = {_day_of(name) for name in record.read}
    marked = stale_days(world, "price")
    assert {day for day in made if record.stale_rates().intersection(reads(day))} <= {*marked}
