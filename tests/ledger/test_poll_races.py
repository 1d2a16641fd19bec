"""Races of polls of external work that no worker holds, with other operations on its job.

Each act is stopped at every statement.
"""

from collections.abc import Callable
from typing import Any

import pytest

from sluice.actors.executor import transactions
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger import external_work
from sluice.ledger.external_work import PolledWork, PollOutcome
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.ledger import races
from tests.ledger.races import Act, Acts
from tests.world import LEASE_S

#: Upper limit of the number of statements of the handlers in these races.
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
    """World in which ``far`` is claimed, and ``after``, which needs it, is not planned.

    If ``left`` is set, the worker has left the work of ``far``, which continues without a worker.
    """

    def __init__(self, url: str, *, left: bool) -> None:
        super().__init__(url)
        far = {
            "job_id": "{x}",
            "job_type": "tests.ledger.test_poll_races:Grid",
            "is_long_running": True,
        }
        after = {"job_id": "{x}", "bash_cmd": "true", "depends_on": {"app_name": ["far"]}}
        self.world.define({"far": far, "after": after})
        self.submission = self.world.submit("far")
        claimed = self.world.claim("far", worker=self.world.hire())
        assert claimed is not None
        self.claimed: ClaimedJob = claimed
        if left:
            self.leave()(self.world.ledger)

    def leave(self) -> Act:
        right = self.claimed.right
        return lambda ledger: transactions.detach(ledger, right, HANDLE, every_s=5.0, external_status="")

    def announce(self) -> None:
        """Let a poll become due, and send its notification."""
        self.world.tick(after_s=5)
        assert self.world.looks

    def take(self) -> Act:
        job = self.claimed.id
        return lambda ledger: ledger.transact(lambda tx: external_work.take_announced(tx, "far", [job]))

    def goes_on(self) -> Act:
        seen = PollOutcome(
            right=self.claimed.right,
            is_over=False,
            poll_interval_s=5.0,
            external_status="fine",
            line="fine\n",
        )
        return lambda ledger: ledger.transact(lambda tx: external_work.record_polls(tx, [seen]))

    def missed(self) -> Act:
        seen = PollOutcome(
            right=self.claimed.right, is_over=False, missed=True, external_status="503", line="503\n"
        )
        return lambda ledger: ledger.transact(lambda tx: external_work.record_polls(tx, [seen]))

    def ends(self) -> Act:
        outcome = {self.claimed.right: FAILED}
        return lambda ledger: transactions.record(ledger, outcome)[1]

    def is_ended(self) -> Act:
        right = self.claimed.right
        return lambda ledger: ledger.transact(lambda tx: external_work.remove_handle(tx, right, HANDLE))

    @property
    def far(self) -> tuple[State, Any, bool]:
        """State and handle of ``far``, and True if a poll of its work is planned."""
        watched = self.world.field("far", "next_poll_at") is not None
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
def test_of_two_workers_with_one_notification_one_takes_the_poll(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.announce()
        return m.take(), m.take()

    def check(_: Meeting, one: list[PolledWork], two: list[PolledWork]) -> None:
        assert len(one) + len(two) == 1

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_of_two_polls_that_find_the_work_ended_one_is_recorded(ledger_url: str, swapped: bool) -> None:
    def check(m: Meeting, one: list[Any], two: list[Any]) -> None:
        assert sorted([one, two], key=len) == [[], [m.claimed.right]], "exactly one poll is recorded"
        assert m.far == (State.EXECUTED, None, False)

    meet(ledger_url, lambda m: (m.ends(), m.ends()), check, swapped=swapped)


@pytest.mark.parametrize("what", ["goes_on", "missed"])
@swapped
def test_a_poll_that_races_a_cancellation_does_not_delay_the_end_of_the_work(
    ledger_url: str, swapped: bool, what: str
) -> None:
    """In either order, the next poll is due at once. It ends the work."""

    def check(m: Meeting, _: object, __: object) -> None:
        assert m.far == (State.CANCELLED, HANDLE, True)
        assert m.world.field("far", "next_poll_at") == m.world.now
        assert m.world.field("far", "failed_polls") == 0

    meet(ledger_url, lambda m: (getattr(m, what)(), m.cancel(m.submission)), check, swapped=swapped)


@swapped
def test_an_end_that_races_a_cancellation_is_recorded_or_refused(ledger_url: str, swapped: bool) -> None:
    """Either the round has ended and the judge cancels the job, or the job is cancelled and its work must be ended."""

    def check(m: Meeting, refused: list[Any], _: object) -> None:
        expected = (State.CANCELLED, HANDLE, True) if refused else (State.EXECUTED, None, False)
        assert m.far == expected

    meet(ledger_url, lambda m: (m.ends(), m.cancel(m.submission)), check, swapped=swapped)


@swapped
def test_a_job_that_is_requested_again_while_its_work_is_ended_is_ready(
    ledger_url: str, swapped: bool
) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.cancel(m.submission)(m.world.ledger)
        return m.is_ended(), m.plan("far")

    def check(m: Meeting, _: object, __: object) -> None:
        assert m.far == (State.READY, None, False)

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_leaving_the_work_that_races_the_end_of_the_lease_succeeds_or_is_refused(
    ledger_url: str, swapped: bool
) -> None:
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
def test_leaving_the_work_that_races_the_plan_of_a_child_loses_no_wake_up(
    ledger_url: str, swapped: bool
) -> None:
    """The second transaction sees the committed change of the first."""

    def check(m: Meeting, _: object, __: object) -> None:
        assert m.world.state("after") is State.READY

    meet(ledger_url, lambda m: (m.leave(), m.plan("after")), check, swapped=swapped, left=False)


@swapped
def test_leaving_the_work_that_races_a_cancellation_is_refused_or_a_poll_is_due(
    ledger_url: str, swapped: bool
) -> None:
    """If leaving is refused, the worker itself ends the work that it has started. Otherwise a poll ends it."""

    def check(m: Meeting, sent: object, _: object) -> None:
        assert m.far == ((State.CANCELLED, None, False) if sent is None else (State.CANCELLED, HANDLE, True))

    meet(ledger_url, lambda m: (m.leave(), m.cancel(m.submission)), check, swapped=swapped, left=False)
