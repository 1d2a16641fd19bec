"""Short scenarios for the checker, each about one guard: intact, there is no violation; broken, there is one.

Each goes on until nothing changes any more, as a run does. Jobs that have not ended by then never will.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from sluice.actors.executor import transactions
from sluice.actors.planner import handlers
from sluice.broker.messages import Executed, Message, Submit
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import LIVE, State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.chaos.checker import Violation, check
from tests.chaos.rules.submissions import CANCELLING_S
from tests.chaos.true_history import Told
from tests.ledger.flights import STEPS, Sagas, did
from tests.ledger.races import race
from tests.world import LEASE_S, taken_in

_LOG = logging.getLogger("sluice.tests")

Tale = Callable[[Told], None]

#: Ticks after which nothing changes any more in a tale of few jobs.
_TURNS = 20
#: Statements before which the plan of one child is stopped, one after the other.
_STATEMENTS = 20


class _Dogged(Told):
    """World that goes on if a handler fails on impossible rows. It drops the notification, as a worker does."""

    def deliver(self) -> None:
        while self.queue:
            try:
                super().deliver()
            except msgspec.ValidationError as error:
                _LOG.warning("notification dropped: %s", error)


def judged(url: str, folder: Path, tale: Tale) -> list[Violation]:
    """Play a tale to its end. Return the violations."""
    told = _Dogged(url)
    try:
        tale(told)
        _go_on(told)
        told.write(folder)
        return check(folder, url)
    finally:
        told.ledger.close()


def late_with_a_success(told: Told) -> None:
    """Have a late worker record a success while another runs the job."""
    told.accept("d")
    still, other = _overtaken(told)
    told.do("end", still, pid=2)
    told.record(still)
    told.do("end", other)
    told.record(other)


def late_with_an_error(told: Told) -> None:
    """Have a late worker record an error while another runs the job."""
    told.accept("d")
    still, other = _overtaken(told)
    told.record(still, Ending.ERROR, error="it broke")
    told.do("end", other)
    told.record(other)


def two_parents(told: Told) -> None:
    """Have the first parent succeed, and check the child before the second succeeds."""
    told.accept("c")
    told.run("a")
    _run_if_ready(told, "c")
    told.run("b")


def a_plan_against_a_parents_end(told: Told) -> None:
    """Plan a child while its last parent is judged. The plan has read the parent's state when the judge comes."""
    for place in range(_STATEMENTS):
        _plan_and_judge(told, str(place), stop_before=place)


def a_worker_that_dies(told: Told) -> None:
    told.accept("d")
    told.begin("d")
    told.tick(after_s=LEASE_S + 1)


def a_hint_that_is_lost(told: Told) -> None:
    """Lose the message that a job was executed, which is for the planner."""
    told.accept("d")
    claimed = told.begin("d")
    transactions.record(told.ledger, {claimed.right: Outcome(ending=Ending.ERROR, error="it broke")})


def one_flight_and_two_workers(told: Told) -> None:
    """Have a late worker write the last entry of a flight."""
    sagas = Sagas(told)
    told.accept("trip")
    still = sagas.claim("trip")
    told.do("start", still, step="S0")
    told.tick(after_s=LEASE_S + 1)
    other = sagas.claim("trip")
    for place in range(STEPS):
        told.do("start", other, step=f"S{place}")
        told.do("end", other, step=f"S{place}")
        if place < STEPS - 1 or not sagas.write(still, did(STEPS)).stands:
            sagas.write(other, did(place + 1))
    sagas.end(other)


def cancelled_in_line(told: Told) -> None:
    """Cancel a job before it has begun."""
    told.cancel(told.accept("d"))
    told.tick(after_s=CANCELLING_S + 1)


def _plan_and_judge(told: Told, key: str, *, stop_before: int) -> None:
    for app in "ab":
        told.accept(app, key, push="wanted")
    told.run(f"b/{key}")
    claimed = told.begin(f"a/{key}")
    told.do("end", claimed)
    transactions.record(told.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    raw = msgspec.Raw(msgspec.json.encode({"app": "c", "key": key}))

    def plan(ledger: Ledger) -> Sequence[Message]:
        return taken_in(ledger, told.catalogue, Submit(id=f"late.{key}", submission=raw))

    def judge(ledger: Ledger) -> Sequence[Message]:
        return handlers.executed(ledger, told.catalogue, Executed(jobs=(claimed.id,)))

    _, planned, judged = race(told.url, lambda: told.now, plan, judge, stop_before)
    told.queue.extend([*(planned or ()), *(judged or ())])
    told.deliver()


def _overtaken(told: Told) -> tuple[ClaimedJob, ClaimedJob]:
    still = told.begin("d", pid=2)
    told.stand_still(LEASE_S + 1)
    told.tick(after_s=1)
    return still, told.begin("d")


def _run_if_ready(told: Told, job: str) -> None:
    if told.state(job) is State.READY:
        told.run(job)


def _go_on(told: Told) -> None:
    """Run all ready jobs and tick the groomer, until all requested jobs have ended."""
    for _ in range(_TURNS):
        for name in sorted(told.ready()):
            told.run(name)
        if not set(told.states().values()) & (LIVE - {State.EXPECTED}):
            return
        told.tick(after_s=LEASE_S + 1)
