"""Decision on the number of workers: invariants for any observations, and the response to a wave of work."""

from collections.abc import Sequence
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ops.autoscale.decision import PAUSE_S_MAX, SOUND_S, ScalingTarget

COOL_DOWN_S = 60.0


class Play:
    """Workers that follow each decision at once. A stopped worker is gone ``gone_after`` observations later."""

    def __init__(self, target: ScalingTarget | None = None, *, gone_after: int = 1) -> None:
        self.target = target or _target()
        self.now_s = 0.0
        self.working = 0
        self._leaving: list[int] = []
        self._gone_after = gone_after

    def look(self, demand: int | None, *, after_s: float = 5.0, lived_s: Sequence[float] = ()) -> int:
        """Return the number of workers that are started, or stopped if it is negative."""
        self.now_s += after_s
        self._leaving = [left - 1 for left in self._leaving if left > 1]
        lived_s = lived_s[: self.working]
        self.working -= len(lived_s)
        of_app = None if demand is None else {"a": demand}
        change = self.target.decide(
            self.now_s,
            of_app,
            working=self.working,
            leaving=len(self._leaving),
            lived_s=lived_s,
        )
        self.working += change
        self._leaving += [self._gone_after] * -change
        return change

    @property
    def there(self) -> int:
        return self.working + len(self._leaving)


def _target(
    least: int = 1, most: int = 4, *, capacity: int = 2, cool_down_s: float = COOL_DOWN_S
) -> ScalingTarget:
    return ScalingTarget(queues=("a",), least=least, most=most, capacity=capacity, cool_down_s=cool_down_s)


def _needs(target: ScalingTarget, demand: int) -> int:
    return max(target.least, min(target.most, ceil(demand / target.capacity)))


def test_without_work_the_minimum_is_started() -> None:
    play = Play()
    assert play.look(0) == 1
    assert play.look(0) == 0


def test_workers_start_at_once_and_stop_after_the_cool_down() -> None:
    play = Play()
    play.look(0)
    assert play.look(5) == 2
    assert play.look(100) == 1
    for _ in range(11):
        assert play.look(0) >= 0
    assert play.look(0) == -3
    assert play.working == 1


def test_no_worker_is_stopped_within_the_cool_down() -> None:
    play = Play()
    for _ in range(20):
        play.look(8, after_s=COOL_DOWN_S - 1)
        assert play.look(0, after_s=1.0) >= 0
    assert play.working == 4


def test_the_highest_need_within_the_cool_down_keeps_its_workers() -> None:
    play = Play()
    play.look(8)
    play.look(6, after_s=30.0)
    play.look(4, after_s=20.0)
    assert play.look(0, after_s=11.0) == -1
    assert play.look(0, after_s=29.0) == -1
    assert play.look(0, after_s=21.0) == -1
    assert play.working == 1


def test_without_a_demand_no_worker_is_stopped_and_exited_ones_are_replaced() -> None:
    play = Play()
    play.look(6)
    for _ in range(50):
        assert play.look(None) >= 0
    assert play.look(None, lived_s=[100.0]) == 1
    assert play.working == 3
    # A time without observations does not count as low demand.
    assert play.look(0) >= 0
    assert play.look(0, after_s=COOL_DOWN_S) == -2


def test_the_first_crash_is_replaced_at_once_and_further_ones_ever_later() -> None:
    play = Play(_target(1, 1, capacity=1, cool_down_s=0.0))
    play.look(0)
    pauses = []
    for _ in range(12):
        began = play.now_s
        started = play.look(0, after_s=0.1, lived_s=[0.1])
        while not started:
            started = play.look(0, after_s=0.5)
        pauses.append(round(play.now_s - began, 1))
    assert pauses[0] < 0.2
    assert pauses == sorted(pauses)
    assert PAUSE_S_MAX <= pauses[-1] <= PAUSE_S_MAX + 1
    # The exit of a sound worker starts a new count of crashes.
    assert play.look(0, after_s=SOUND_S, lived_s=[SOUND_S]) == 1


def test_stopping_workers_count_towards_the_maximum() -> None:
    play = Play(_target(0, 3, capacity=1, cool_down_s=0.0), gone_after=3)
    play.look(3)
    assert play.look(0) == -3
    assert play.look(3) == 0
    assert play.look(3) == 0
    assert play.look(3) == 3


_DEMANDS = st.one_of(st.none(), st.integers(0, 40))
_LOOKS = st.lists(
    st.tuples(
        _DEMANDS, st.floats(0.0, 100.0, allow_subnormal=False), st.lists(st.floats(0.0, 200.0), max_size=3)
    ),
    max_size=60,
)
_TARGETS = st.builds(
    lambda least, more, capacity, cool_down_s: _target(
        least, max(least + more, 1), capacity=capacity, cool_down_s=cool_down_s
    ),
    least=st.integers(0, 3),
    more=st.integers(0, 5),
    capacity=st.integers(1, 8),
    cool_down_s=st.floats(0.0, 200.0),
)


@given(target=_TARGETS, looks=_LOOKS, gone_after=st.integers(1, 5))
def test_the_bounds_hold_for_any_observations(
    target: ScalingTarget, looks: list[tuple[int | None, float, list[float]]], gone_after: int
) -> None:
    play = Play(target, gone_after=gone_after)
    needed: list[tuple[float, int]] = []
    for demand, after_s, lived_s in looks:
        change = play.look(demand, after_s=after_s, lived_s=lived_s)
        assert play.there <= target.most
        assert play.working >= 0
        assert change >= 0 or play.working >= target.least
        assert change <= 0 or play.now_s >= target.start_from_s
        if demand is None:
            assert change >= 0
        else:
            needed.append((play.now_s, _needs(target, demand)))
        recent = [number for at_s, number in needed if at_s > play.now_s - target.cool_down_s]
        assert change >= 0 or play.working >= max(recent, default=0)
        assert len(target.needed_s) <= target.most + 1


@given(target=_TARGETS, looks=_LOOKS, demand=st.integers(0, 40))
def test_a_constant_demand_gets_the_workers_that_it_needs(
    target: ScalingTarget, looks: list[tuple[int | None, float, list[float]]], demand: int
) -> None:
    play = Play(target)
    for before, after_s, lived_s in looks:
        play.look(before, after_s=after_s, lived_s=lived_s)
    for _ in range(4):
        play.look(demand, after_s=target.cool_down_s + PAUSE_S_MAX + 1)
    assert play.working == _needs(target, demand)


@pytest.mark.parametrize(("less", "more"), [(0, 1), (3, 4), (7, 8), (8, 100)])
def test_more_demand_never_starts_fewer_workers(less: int, more: int) -> None:
    started, more_started = (
        _target().decide(1.0, {"a": each}, working=0, leaving=0) for each in (less, more)
    )
    assert more_started >= started


@pytest.mark.parametrize(
    ("demand", "started"),
    [({"a": 5, "c": 0}, 3), ({"a": 0, "c": 100}, 1), ({"a": 0, "c": 101}, 2), ({"a": 5, "c": 150}, 3)],
)
def test_coroutines_need_places_on_event_loops_and_no_threads(demand: dict[str, int], started: int) -> None:
    target = ScalingTarget(
        queues=("a", "c"),
        least=0,
        most=9,
        capacity=2,
        coroutines=frozenset({"c"}),
        coroutine_capacity=100,
        cool_down_s=COOL_DOWN_S,
    )
    assert target.decide(1.0, demand, working=0, leaving=0) == started
