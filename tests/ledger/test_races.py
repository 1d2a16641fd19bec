"""Every pair of verbs that can meet, stopped at every statement: the ledger agrees with itself, nothing is stuck."""

from collections.abc import Callable

import msgspec
import pytest

from actors import executor, groomer, planner
from actors.executor import Appetite
from broker.messages import Cancel, Execute, Executed, Message, Submit, Tick, Turn
from jobs.outcome import Ending, Outcome
from jobs.states import LIVE, State
from ledger import counts, planning
from ledger.connection import Ledger
from ledger.reads.check import breaches
from tests.ledger.races import at_each_statement, race
from tests.world import LEASE_S, World, taken_in

#: No handler here has more statements than this.
STATEMENTS_MAX = 60

Act = Callable[[Ledger], list[Message]]
Pair = Callable[["Meeting"], tuple[Act, Act]]


class Meeting:
    """A world in which ``a`` is executed and not judged, ``b`` is ready, ``c`` needs both and may not exist yet."""

    def __init__(self, url: str, *, planned: bool) -> None:
        self.world = World(url)
        self.world.apps("a -> c, b -> c, c -> d", max_fails=1)
        self.submission = self.world.submit("c") if planned else self.world.submit("a", push="wanted")
        if not planned:
            self.world.submit("b", push="wanted")
        self.claims = {}
        for name in "ab":
            claimed = self.world.claim(name)
            assert claimed is not None
            self.claims[name] = claimed
            if name == "a":
                executor.record(self.world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})

    def judge(self, name: str) -> Act:
        job = self.world.known(name).id
        return lambda ledger: list(planner.executed(ledger, self.world.catalogue, Executed(jobs=(job,))))

    def plan(self, app: str, **words: object) -> Act:
        raw = msgspec.Raw(msgspec.json.encode({"app": app, "key": "1", **words}))
        message = Submit(id=f"plan-{app}-{len(words)}", submission=raw)
        return lambda ledger: taken_in(ledger, self.world.catalogue, message)

    def cancel(self) -> Act:
        message = Cancel(submission=self.submission)
        return lambda ledger: list(planner.cancel(ledger, self.world.catalogue, message))

    def groom(self) -> Act:
        return lambda ledger: list(groomer.tick(ledger, self.world.catalogue, Tick()))

    def record(self, name: str, ending: Ending = Ending.DONE) -> Act:
        outcome = {self.claims[name].right: Outcome(ending=ending)}
        return lambda ledger: list(executor.record(ledger, outcome)[0])

    def settle(self, *names: str) -> Act:
        """As a worker that would take on whatever follows."""
        outcomes = {self.claims[name].right: Outcome(ending=Ending.DONE) for name in names}
        appetite = Appetite(self.world.worker, lambda _: True, lambda _: 2)

        def act(ledger: Ledger) -> list[Message]:
            settled = executor.settle(ledger, self.world.catalogue, outcomes, appetite)
            self.claims |= {claimed.app: claimed for claimed in settled.taken}
            return list(settled.messages)

        return act

    def claim_again(self, name: str) -> Act:
        known = self.world.known(name)
        message = Execute(app=known.app, jobs=(Turn(known.id, self.world.round(name)),))

        def act(ledger: Ledger) -> list[Message]:
            return list(executor.claim(ledger, self.world.catalogue, message, self.world.worker)[1])

        return act

    def lose_the_lease(self) -> None:
        self.world.tick(after_s=0)
        self.world.now = self.world.now.replace(second=int(LEASE_S) + 1)


def _finish(meeting: Meeting) -> None:
    """Work on until nothing moves; every job that somebody asked for has to end."""
    world = meeting.world
    for claimed in meeting.claims.values():
        world.record(claimed)
    world.worker = world.hire()
    for _ in range(20):
        for name in sorted(world.ready()):
            world.finish(name)
        if not set(world.states().values()) & (LIVE - {State.EXPECTED}):
            return
        world.tick(after_s=LEASE_S)
    raise AssertionError(world.states())


def _judge_and_plan(m: Meeting) -> tuple[Act, Act]:
    return m.judge("a"), m.plan("c")


def _plan_and_judge(m: Meeting) -> tuple[Act, Act]:
    return m.plan("c"), m.judge("a")


def _two_judges(m: Meeting) -> tuple[Act, Act]:
    m.record("b")(m.world.ledger)
    return m.judge("a"), m.judge("b")


def _one_judge_twice(m: Meeting) -> tuple[Act, Act]:
    return m.judge("a"), m.judge("a")


def _two_plans(m: Meeting) -> tuple[Act, Act]:
    return m.plan("c"), m.plan("d")


def _cancel_and_plan(m: Meeting) -> tuple[Act, Act]:
    return m.cancel(), m.plan("d")


def _cancel_and_record(m: Meeting) -> tuple[Act, Act]:
    return m.cancel(), m.record("b")


def _cancel_and_judge(m: Meeting) -> tuple[Act, Act]:
    return m.cancel(), m.judge("a")


def _cancel_and_judge_a_failure(m: Meeting) -> tuple[Act, Act]:
    m.record("b", Ending.ERROR)(m.world.ledger)
    return m.cancel(), m.judge("b")


def _groom_and_record(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.groom(), m.record("b")


def _two_grooms(m: Meeting) -> tuple[Act, Act]:
    m.lose_the_lease()
    return m.groom(), m.groom()


def _two_claims(m: Meeting) -> tuple[Act, Act]:
    m.record("b", Ending.HANDED_BACK)(m.world.ledger)
    return m.claim_again("b"), m.claim_again("b")


def _claim_and_cancel(m: Meeting) -> tuple[Act, Act]:
    m.record("b", Ending.HANDED_BACK)(m.world.ledger)
    return m.claim_again("b"), m.cancel()


def _rerun_and_judge(m: Meeting) -> tuple[Act, Act]:
    m.record("b", Ending.ERROR)(m.world.ledger)
    return m.plan("c", rerun="downstream"), m.judge("b")


def _change_and_judge_a_parent_that_stays(m: Meeting) -> tuple[Act, Act]:
    m.world.apps("a -> c, b, c -> d", max_fails=1)
    return m.plan("c"), m.judge("a")


def _change_and_judge_a_parent_that_leaves(m: Meeting) -> tuple[Act, Act]:
    m.world.apps("b -> c, a, c -> d", max_fails=1)
    return m.plan("c"), m.judge("a")


def _claim_and_plan_for_a_run(m: Meeting) -> tuple[Act, Act]:
    m.record("b", Ending.HANDED_BACK)(m.world.ledger)
    words = {"job_id": "{x}", "bash_cmd": "true"}
    m.world.define(
        {
            "a": words,
            "b": words,
            "c": {**words, "depends_on": {"app_name": ["b"], "when": "running"}},
            "d": {**words, "depends_on": {"app_name": ["c"]}},
        }
    )
    return m.claim_again("b"), m.plan("c")


def _judge_and_settle(m: Meeting) -> tuple[Act, Act]:
    return m.judge("a"), m.settle("b")


def _settle_twice(m: Meeting) -> tuple[Act, Act]:
    m.judge("a")(m.world.ledger)
    return m.settle("b"), m.settle("b")


def _settle_and_plan(m: Meeting) -> tuple[Act, Act]:
    m.judge("a")(m.world.ledger)
    return m.settle("b"), m.plan("c")


def _settle_and_plan_what_follows(m: Meeting) -> tuple[Act, Act]:
    m.judge("a")(m.world.ledger)
    return m.settle("b"), m.plan("d")


def _settle_and_cancel(m: Meeting) -> tuple[Act, Act]:
    m.judge("a")(m.world.ledger)
    return m.settle("b"), m.cancel()


def _settle_and_groom(m: Meeting) -> tuple[Act, Act]:
    m.judge("a")(m.world.ledger)
    m.lose_the_lease()
    return m.settle("b"), m.groom()


def _settle_and_rerun(m: Meeting) -> tuple[Act, Act]:
    m.judge("a")(m.world.ledger)
    return m.settle("b"), m.plan("a", rerun="downstream")


def _judge_and_rerun(m: Meeting) -> tuple[Act, Act]:
    m.judge("a")(m.world.ledger)
    m.record("b")(m.world.ledger)
    return m.judge("b"), m.plan("a", rerun="downstream")


PAIRS = [
    _judge_and_rerun,
    _judge_and_settle,
    _settle_twice,
    _settle_and_plan,
    _settle_and_plan_what_follows,
    _settle_and_cancel,
    _settle_and_groom,
    _settle_and_rerun,
    _change_and_judge_a_parent_that_stays,
    _change_and_judge_a_parent_that_leaves,
    _claim_and_plan_for_a_run,
    _judge_and_plan,
    _two_judges,
    _one_judge_twice,
    _two_plans,
    _cancel_and_plan,
    _cancel_and_record,
    _cancel_and_judge,
    _cancel_and_judge_a_failure,
    _groom_and_record,
    _two_grooms,
    _two_claims,
    _claim_and_cancel,
    _rerun_and_judge,
]


@pytest.mark.parametrize("planned", [True, False], ids=["child-planned", "child-unknown"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_verbs_meet_at_every_statement(
    embedded_url: str, pair: Pair, planned: bool, swapped: bool
) -> None:
    _meet(embedded_url, pair, planned=planned, swapped=swapped)


def test_without_the_lock_on_parents_a_wake_up_is_lost(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The races can fail: planning that does not lock what it reads leaves its child waiting for ever."""
    monkeypatch.setattr(counts, "_HOLD_PARENTS", "SELECT 1 WHERE %(jobs)s::bigint[] IS NOT NULL")
    monkeypatch.setattr(planning, "_HOLD", planning._HOLD.replace(" FOR SHARE", ""))
    with pytest.raises(AssertionError, match=r"waiting|told"):
        _meet(embedded_url, _plan_and_judge, planned=False, swapped=False)


def _meet(url: str, pair: Pair, *, planned: bool, swapped: bool) -> None:

    def meet_at(stop_before: int) -> bool:
        meeting = Meeting(url, planned=planned)
        world = meeting.world
        first, second = reversed(pair(meeting)) if swapped else pair(meeting)
        stopped, one, two = race(url, lambda: world.now, first, second, stop_before)
        world.queue.extend([*(one or []), *(two or [])])
        assert world.ledger.transact(breaches) == [], f"stopped before statement {stop_before}"
        world.deliver()
        _finish(meeting)
        assert world.ledger.transact(breaches) == []
        world.ledger.close()
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)
