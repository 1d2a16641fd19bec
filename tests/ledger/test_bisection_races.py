"""Races of a split with another operation, stopped at every statement.

The ledger stays consistent, and no ID is lost or run twice.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from sluice.jobs.states import LIVE, State
from sluice.ledger.lifecycle import bisection
from tests.ledger.poisoned_chunks import Farm
from tests.ledger.races import Act, Acts, may_deadlock, meet_and_finish
from tests.world import LEASE_S, World

#: Maximum number of statements of a handler here.
STATEMENTS_MAX = 80

_CHUNK_SIZES = {"a": 2, "b": 4}

Pair = Callable[["Meeting"], tuple[Act, Act]]


class Meeting(Acts):
    """World in which one chunk has failed and another has timed out. The planner has handled neither.

    They are parents of one child of the app ``b``, unless ``apps`` is only ``a``.
    """

    def __init__(self, url: str, apps: str) -> None:
        super().__init__(url)
        self.apps = apps
        self.farm = Farm(self.world, " -> ".join(f"{app}:{_CHUNK_SIZES[app]}" for app in apps), timeout=5)
        self.submission = self.farm.submit(apps[-1], [[1, 4]])
        self.late = self.farm.time_out("a/3-4@1")
        self.failed = self.farm.fail("a/1-2@1")


def _two_judgements(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.failed), m.handle(*m.failed)


def _two_propagations(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.late), m.handle(*m.late)


def _two_parents_of_one_child(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.failed), m.handle(*m.late)


def _judge_and_cancel(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.failed), m.cancel(m.submission)


def _propagate_and_cancel(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.late), m.cancel(m.submission)


def _propagate_and_plan(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.late), m.plan("a", "3-4@1")


def _propagate_and_rerun(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.late), m.plan("a", "3-4@1", rerun="downstream")


def _judge_and_plan(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.failed), m.plan("a", "1-2@1")


def _judge_and_hurry_the_child(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.failed), m.plan("b", "1-4@1", policy={"priority": 9})


def _propagate_and_groom(m: Meeting) -> tuple[Act, Act]:
    return m.handle(*m.late), m.groom()


ALIKE = [_two_judgements, _two_propagations]
UNLIKE = [
    _two_parents_of_one_child,
    _judge_and_cancel,
    _propagate_and_cancel,
    _propagate_and_plan,
    _propagate_and_rerun,
    _judge_and_plan,
    _judge_and_hurry_the_child,
    _propagate_and_groom,
]


@pytest.mark.parametrize(
    ("pair", "swapped"),
    [*((pair, False) for pair in ALIKE), *((pair, swapped) for pair in UNLIKE for swapped in (False, True))],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "swapped" if value else "",
)
def test_a_split_and_a_concurrent_operation_lose_and_repeat_no_id(
    embedded_url: str, pair: Pair, swapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if pair is _judge_and_hurry_the_child:
        may_deadlock(monkeypatch)
    _meet(embedded_url, "ab", pair, swapped=swapped)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("pair", [_judge_and_cancel, _propagate_and_cancel])
def test_a_split_of_chunks_without_children_and_a_cancellation_leave_no_half(
    embedded_url: str, pair: Pair, swapped: bool
) -> None:
    """With children, the cancellation waits for their locks, too."""
    _meet(embedded_url, "a", pair, swapped=swapped)


@pytest.mark.parametrize(
    ("lock", "apps", "pair", "broken"),
    [
        ("_HOLD_SUBMISSIONS", "a", _propagate_and_cancel, "is requested by a submission"),
        ("_HOLD_CHILDREN", "ab", _judge_and_hurry_the_child, "no job is more urgent"),
    ],
)
def test_without_its_locks_a_split_breaks_a_rule(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch, *, lock: str, apps: str, pair: Pair, broken: str
) -> None:
    """Show that the races can fail."""
    sql = getattr(bisection, lock)
    monkeypatch.setattr(bisection, lock, sql.replace("FOR SHARE", "").replace("FOR UPDATE", ""))
    with pytest.raises(AssertionError, match=broken):
        _meet(embedded_url, apps, pair, swapped=False)


def _meet(url: str, apps: str, pair: Pair, *, swapped: bool) -> None:
    meet_and_finish(lambda: Meeting(url, apps), pair, _finish, swapped=swapped, most=STATEMENTS_MAX)


def _finish(meeting: Meeting) -> None:
    """Work until nothing moves. Check that each ID succeeded once, unless the submission was cancelled."""
    world, farm = meeting.world, meeting.farm
    world.queue.extend([*meeting.failed, *meeting.late])
    world.deliver()
    for _ in range(20):
        world.worker = world.hire()
        farm.work()
        if not set(world.states().values()) & LIVE:
            break
        world.tick(after_s=LEASE_S)
    assert not set(world.states().values()) & LIVE
    if meeting.submission in _cancelled(world):
        assert State.SUCCEEDED not in world.states().values()
        return
    for app in meeting.apps:
        assert farm.come_to(app) == dict.fromkeys(range(1, 5), State.SUCCEEDED)
        assert farm.done(app) == Counter(range(1, 5))


def _cancelled(world: World) -> list[str]:
    return world.ledger.transact(lambda tx: tx.column("SELECT id FROM submission WHERE state = 'cancelled'"))
