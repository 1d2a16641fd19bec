"""A pause that meets other verbs, stopped at every statement: what only paused submissions want waits, and no more."""

from collections.abc import Callable

import msgspec
import pytest

from actors import executor, pausing, planner, resuming
from broker.messages import Cancel, Execute, Executed, Message, Pause, Resume, Submit, Turn
from jobs.outcome import Ending, Outcome
from jobs.states import LIVE, State
from ledger import pausing as ledger_pausing
from ledger.claims import Claimed
from ledger.connection import Ledger
from ledger.reads.check import breaches
from tests.ledger.races import at_each_statement, race, world_for_a_race
from tests.world import taken_in

#: No handler here has more statements than this.
STATEMENTS_MAX = 60

Act = Callable[[Ledger], list[Message]]
Pair = Callable[["Meeting"], tuple[Act, Act]]


class Meeting:
    """A world in which ``a`` is executed and not judged, and ``b`` is ready; ``paused`` wants both and ``c`` behind
    them, and is to be paused; ``other`` wants ``b`` too. ``later`` is the one that ``plan`` makes of ``d``."""

    later = "plan-d"

    def __init__(self, url: str) -> None:
        self.world = world_for_a_race(url)
        self.world.apps("a -> c, b -> c, a -> d", max_fails=1)
        self.paused = self.world.submit("c")
        self.other = self.world.submit("b", push="wanted")
        claimed = self.world.claim("a")
        assert claimed is not None
        self.claimed = claimed
        self.taken: list[Claimed] = []

    def record(self, ending: Ending = Ending.DONE) -> Act:
        outcome = {self.claimed.right: Outcome(ending=ending)}
        return lambda ledger: list(executor.record(ledger, outcome)[0])

    def judge(self, name: str = "a") -> Act:
        job = self.world.known(name).id
        return lambda ledger: list(planner.executed(ledger, self.world.catalogue, Executed(jobs=(job,))))

    def claim(self, name: str) -> Act:
        known = self.world.known(name)
        message = Execute(app=known.app, jobs=(Turn(known.id, self.world.round(name)),))

        def act(ledger: Ledger) -> list[Message]:
            taken, messages = executor.claim(ledger, self.world.catalogue, message, self.world.worker)
            self.taken += taken
            return list(messages)

        return act

    def plan(self, app: str, **words: object) -> Act:
        raw = msgspec.Raw(msgspec.json.encode({"app": app, "key": "1", **words}))
        message = Submit(id=f"plan-{app}", submission=raw)
        return lambda ledger: taken_in(ledger, self.world.catalogue, message)

    def pause(self, submission: str) -> Act:
        message = Pause(submission=submission)
        return lambda ledger: list(pausing.pause(ledger, self.world.catalogue, message))

    def resume(self, submission: str) -> Act:
        message = Resume(submission=submission)
        return lambda ledger: list(resuming.resume(ledger, self.world.catalogue, message))

    def cancel(self, submission: str) -> Act:
        message = Cancel(submission=submission)
        return lambda ledger: list(planner.cancel(ledger, self.world.catalogue, message))


def _pause_and_plan_what_it_wants(m: Meeting) -> tuple[Act, Act]:
    m.record()(m.world.ledger)
    return m.pause(m.paused), m.plan("c")


def _pause_and_plan_itself(m: Meeting) -> tuple[Act, Act]:
    """It comes after whoever pauses it has looked for it the first time, and is planned before he looks again."""
    return m.pause(m.later), m.plan("d")


def _pause_and_release_by_the_last_parent(m: Meeting) -> tuple[Act, Act]:
    m.world.finish("b")
    m.record()(m.world.ledger)
    return m.pause(m.paused), m.judge()


def _pause_and_push(m: Meeting) -> tuple[Act, Act]:
    """``d`` is made by the judgement of ``a``, for the one that is paused."""
    m.record()(m.world.ledger)
    return m.pause(m.paused), m.judge()


def _pause_and_claim(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.other)(m.world.ledger)
    return m.pause(m.paused), m.claim("b")


def _pause_and_try_again(m: Meeting) -> tuple[Act, Act]:
    m.record(Ending.ERROR)(m.world.ledger)
    return m.pause(m.paused), m.judge()


def _pause_and_hand_back(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.record(Ending.HANDED_BACK)


def _resume_and_hand_back(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.paused)(m.world.ledger)
    return m.resume(m.paused), m.record(Ending.HANDED_BACK)


def _pause_and_run_again(m: Meeting) -> tuple[Act, Act]:
    """What runs again had ended, and so the pause does not know of it."""
    m.world.queue.append(Cancel(app="b", key="1"))
    m.world.deliver()
    return m.pause(m.paused), m.plan("b", rerun="job", push="wanted")


def _pause_both(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.pause(m.other)


def _resume_one_and_pause_the_other(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.paused)(m.world.ledger)
    return m.resume(m.paused), m.pause(m.other)


def _resume_both(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.paused)(m.world.ledger)
    m.pause(m.other)(m.world.ledger)
    return m.resume(m.paused), m.resume(m.other)


def _pause_and_resume(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.resume(m.paused)


def _pause_one_and_cancel_the_other(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.cancel(m.other)


def _pause_and_cancel(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.cancel(m.paused)


def _resume_and_cancel(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.paused)(m.world.ledger)
    return m.resume(m.paused), m.cancel(m.paused)


PAIRS = [
    _pause_and_plan_what_it_wants,
    _pause_and_plan_itself,
    _pause_and_release_by_the_last_parent,
    _pause_and_push,
    _pause_and_claim,
    _pause_and_try_again,
    _pause_and_hand_back,
    _resume_and_hand_back,
    _pause_and_run_again,
    _pause_both,
    _resume_one_and_pause_the_other,
    _resume_both,
    _pause_and_resume,
    _pause_one_and_cancel_the_other,
    _pause_and_cancel,
    _resume_and_cancel,
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_verbs_meet_over_a_pause(embedded_url: str, pair: Pair, swapped: bool) -> None:
    _meet(embedded_url, pair, swapped=swapped)


@pytest.mark.parametrize(
    ("lock", "without", "pairing"),
    [
        ("_HOLD_STILL", "SELECT 1", (_pause_and_push, True)),
        ("_HOLD", "SELECT 1 WHERE %(jobs)s::bigint[] IS NOT NULL", (_pause_both, False)),
    ],
)
def test_without_its_locks_a_pause_misses_something(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch, lock: str, without: str, pairing: tuple[Pair, bool]
) -> None:
    """The races can fail."""
    monkeypatch.setattr(ledger_pausing, lock, without)
    with pytest.raises(AssertionError, match="is paused if and only if"):
        _meet(embedded_url, pairing[0], swapped=pairing[1])


def _meet(url: str, pair: Pair, *, swapped: bool) -> None:

    def meet_at(stop_before: int) -> bool:
        meeting = Meeting(url)
        world = meeting.world
        first, second = reversed(pair(meeting)) if swapped else pair(meeting)
        stopped, one, two = race(url, lambda: world.now, first, second, stop_before)
        world.queue.extend([*(one or []), *(two or [])])
        assert world.ledger.transact(breaches) == [], f"stopped before statement {stop_before}"
        world.deliver()
        _finish(meeting)
        assert world.ledger.transact(breaches) == []
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)


def _finish(meeting: Meeting) -> None:
    """Resume whatever is paused and work on until nothing moves; every job that somebody asked for has to end."""
    world = meeting.world
    for submission in (meeting.paused, meeting.other, meeting.later):
        world.resume(submission)
    world.record(meeting.claimed)
    for claimed in meeting.taken:
        world.record(claimed)
    for _ in range(20):
        for name in sorted(world.ready()):
            world.finish(name)
        if not set(world.states().values()) & (LIVE - {State.EXPECTED}):
            return
        world.tick(after_s=11)
    raise AssertionError(world.states())
