"""Looks at work that no worker holds, against whoever else has to do with its job: stopped at every statement."""

from collections.abc import Callable
from typing import Any

import pytest

from sluice.actors import executor
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger import handles, watching
from sluice.ledger.claims import Claimed
from sluice.ledger.watching import Seen, Watched
from tests.ledger import races
from tests.ledger.races import Act, Acts
from tests.world import LEASE_S

#: No handler here has more statements than this.
STATEMENTS_MAX = 60
HANDLE = "w1"
FAILED = Outcome(ending=Ending.ERROR, error="it broke")


class Grid:
    def run(self, _: object) -> str:
        return HANDLE

    def check(self, _: object) -> str:
        return "running"

    def cancel(self, _: object) -> None: ...


class Meeting(Acts):
    """``far`` is claimed; once it is ``left`` its work goes on. ``after`` needs it and is not planned."""

    def __init__(self, url: str, *, left: bool) -> None:
        super().__init__(url)
        far = {
            "job_id": "{x}",
            "job_type": "tests.ledger.test_watching_races:Grid",
            "is_long_running": True,
        }
        after = {"job_id": "{x}", "bash_cmd": "true", "depends_on": {"app_name": ["far"]}}
        self.world.define({"far": far, "after": after})
        self.submission = self.world.submit("far")
        claimed = self.world.claim("far", worker=self.world.hire())
        assert claimed is not None
        self.claimed: Claimed = claimed
        if left:
            self.leave()(self.world.ledger)

    def leave(self) -> Act:
        right = self.claimed.right
        return lambda ledger: executor.leave(ledger, right, HANDLE, every_s=5.0, said="")

    def announce(self) -> None:
        """A look is due, and its hint sent."""
        self.world.tick(after_s=5)
        assert self.world.looks

    def take(self) -> Act:
        job = self.claimed.id
        return lambda ledger: ledger.transact(lambda tx: watching.take(tx, "far", [job]))

    def goes_on(self) -> Act:
        seen = Seen(right=self.claimed.right, is_over=False, watch_s=5.0, said="fine", line="fine\n")
        return lambda ledger: ledger.transact(lambda tx: watching.note(tx, [seen]))

    def missed(self) -> Act:
        seen = Seen(right=self.claimed.right, is_over=False, missed=True, said="503", line="503\n")
        return lambda ledger: ledger.transact(lambda tx: watching.note(tx, [seen]))

    def ends(self) -> Act:
        outcome = {self.claimed.right: FAILED}
        return lambda ledger: executor.record(ledger, outcome)[1]

    def is_ended(self) -> Act:
        right = self.claimed.right
        return lambda ledger: ledger.transact(lambda tx: handles.forget(tx, right, HANDLE))

    @property
    def far(self) -> tuple[State, Any, bool]:
        """Its state, its handle, and whether somebody is to look."""
        watched = self.world.field("far", "watch_at") is not None
        return self.world.state("far"), self.world.field("far", "handle"), watched


Arrange = Callable[[Meeting], tuple[Act, Act]]


def meet(
    url: str,
    arrange: Arrange,
    check: Callable[[Meeting, Any, Any], None],
    *,
    swapped: bool,
    left: bool = True,
) -> None:
    """See ``races.meet``."""
    races.meet(lambda: Meeting(url, left=left), arrange, check, swapped=swapped, most=STATEMENTS_MAX)


swapped = pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])


@swapped
def test_two_who_are_sent_for_one_look(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.announce()
        return m.take(), m.take()

    def check(_: Meeting, one: list[Watched], two: list[Watched]) -> None:
        assert len(one) + len(two) == 1

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_two_who_find_that_it_has_ended(ledger_url: str, swapped: bool) -> None:
    def check(m: Meeting, one: list[Any], two: list[Any]) -> None:
        assert sorted([one, two], key=len) == [[], [m.claimed.right]], "one of them is refused"
        assert m.far == (State.EXECUTED, None, False)

    meet(ledger_url, lambda m: (m.ends(), m.ends()), check, swapped=swapped)


@pytest.mark.parametrize("what", ["goes_on", "missed"])
@swapped
def test_a_look_against_a_cancellation(ledger_url: str, swapped: bool, what: str) -> None:
    """Whoever comes first, the work is to be ended at once."""

    def check(m: Meeting, _: object, __: object) -> None:
        assert m.far == (State.CANCELLED, HANDLE, True)
        assert m.world.field("far", "watch_at") == m.world.now
        assert m.world.field("far", "misses") == 0

    meet(ledger_url, lambda m: (getattr(m, what)(), m.cancel(m.submission)), check, swapped=swapped)


@swapped
def test_an_end_against_a_cancellation(ledger_url: str, swapped: bool) -> None:
    """Either its round has ended and the judge cancels it, or it is cancelled and its work is to be ended."""

    def check(m: Meeting, refused: list[Any], _: object) -> None:
        expected = (State.CANCELLED, HANDLE, True) if refused else (State.EXECUTED, None, False)
        assert m.far == expected

    meet(ledger_url, lambda m: (m.ends(), m.cancel(m.submission)), check, swapped=swapped)


@swapped
def test_a_work_that_was_ended_against_one_who_wants_it_anew(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.cancel(m.submission)(m.world.ledger)
        return m.is_ended(), m.plan("far")

    def check(m: Meeting, _: object, __: object) -> None:
        assert m.far == (State.READY, None, False)

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_leaving_against_the_end_of_the_lease(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.world.now = m.world.now.replace(second=int(LEASE_S) + 1)
        return m.leave(), m.groom()

    def check(m: Meeting, sent: object, _: object) -> None:
        if sent is None:
            assert m.far == (State.READY, None, False)
        else:
            assert m.far == (State.RUNNING, HANDLE, True)

    meet(ledger_url, arrange, check, swapped=swapped, left=False)


@swapped
def test_leaving_against_a_plan_for_who_needs_it_to_run(ledger_url: str, swapped: bool) -> None:
    """No wake-up is lost: whoever comes second sees the other."""

    def check(m: Meeting, _: object, __: object) -> None:
        assert m.world.state("after") is State.READY

    meet(ledger_url, lambda m: (m.leave(), m.plan("after")), check, swapped=swapped, left=False)


@swapped
def test_leaving_against_a_cancellation(ledger_url: str, swapped: bool) -> None:
    """Refused, the worker ends what it has started; otherwise somebody is sent to."""

    def check(m: Meeting, sent: object, _: object) -> None:
        assert m.far == ((State.CANCELLED, None, False) if sent is None else (State.CANCELLED, HANDLE, True))

    meet(ledger_url, lambda m: (m.leave(), m.cancel(m.submission)), check, swapped=swapped, left=False)
