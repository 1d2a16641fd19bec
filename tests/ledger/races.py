"""Races of two transactions: one stops before its n-th statement while the other runs until it ends or waits."""

import atexit
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any, Protocol, TypeVar
from uuid import UUID

import msgspec
import psycopg
import pytest

from sluice.actors.executor import transactions
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Cancel, Execute, Executed, JobRound, Message, Pause, Resume, Submit, Tick
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import LIVE, State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.driver import Row
from sluice.ledger.database.procedures import Procedure
from sluice.ledger.fixtures import TABLES
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.recovery.invariants import breaches
from tests.stepwise import stepwise
from tests.world import LEASE_S, KeptLedger, World, taken_in

T = TypeVar("T")
#: Concurrent transaction of a race. It returns the messages that it would send, or another result.
Act = Callable[[Ledger], Any]

#: A digest of the rows of each table, except tables that count statements and transactions.
_CONTENTS = " UNION ALL ".join(
    f"SELECT '{table}', md5(string_agg(each::text, chr(10) ORDER BY each::text)) FROM {table} AS each"
    for table in TABLES
    if not table.startswith(("state_", "transition_count", "event_counter"))
)
_WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
#: Seconds: longer than Postgres takes to notice a deadlock.
WAIT_S = 10.0


class _Stops(Tx, frozen=True, kw_only=True):
    """Transaction that calls ``gate`` before each statement."""

    gate: Callable[[], None]

    def rows(self, sql: str, **params: object) -> list[Row]:
        self.gate()
        return super().rows(sql, **params)

    def structs(self, kind: type[T], sql: str, **params: object) -> list[T]:
        self.gate()
        return super().structs(kind, sql, **params)

    def write(self, sql: str, **params: object) -> int:
        self.gate()
        return super().write(sql, **params)

    def call(self, procedure: Procedure, **params: object) -> list[list[msgspec.Raw]]:
        """Run the steps of a procedure one by one, so that each can be stopped before."""
        return stepwise(self, procedure, params)


class RacingLedger(KeptLedger):
    """Ledger that does not run a transaction again after a deadlock, which would hide it."""

    @contextmanager
    def begin(self) -> Iterator[Tx]:
        try:
            with super().begin() as tx:
                yield tx
        except psycopg.errors.DeadlockDetected as error:
            raise AssertionError(f"the two acts lock the same rows in different orders: {error}") from error


def may_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run transactions again after a deadlock, as in production. docs/ledger.md names the transactions that may lock
    rows in another order."""
    monkeypatch.setattr(RacingLedger, "begin", KeptLedger.begin)


class StoppingLedger(RacingLedger):
    """Ledger that stops once, before the statement of a given number (0 is the first), until ``go_on`` is set."""

    def stop_before(self, number: int) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()
        self._left = number

    @contextmanager
    def begin(self) -> Iterator[Tx]:
        with super().begin() as tx:
            yield _Stops(**msgspec.structs.asdict(tx), gate=self._gate)

    def _gate(self) -> None:
        self._left -= 1
        if self._left == -1:
            self.reached.set()
            assert self.go_on.wait(WAIT_S), "the race did not resume this transaction in time"


def race(
    url: str,
    clock: Callable[[], datetime],
    first: Callable[[Ledger], T],
    second: Callable[[Ledger], T],
    stop_before: int,
) -> tuple[bool, T | None, T | None]:
    """Race two acts. The first stops before the statement of this number while the second runs.

    Return whether the first act has that statement, and the results of both.
    """
    stopping, other = _kept(url)
    stopping.time = other.time = clock
    stopping.stop_before(stop_before)
    results: dict[str, T] = {}
    one = threading.Thread(target=lambda: results.__setitem__("first", first(stopping)))
    two = threading.Thread(target=lambda: results.__setitem__("second", second(other)))
    try:
        one.start()
        while one.is_alive() and not stopping.reached.is_set():
            stopping.reached.wait(0.005)
        two.start()
        _until_ended_or_waiting(url, two)
        stopping.go_on.set()
        for thread in (one, two):
            thread.join(WAIT_S)
            assert not thread.is_alive(), "the two wait for each other indefinitely"
    except AssertionError:
        _kept.cache_clear()
        raise
    assert results.keys() == {"first", "second"}, "a transaction raised an error"
    assert stop_before or stopping.reached.is_set(), "a transaction begins before its first statement"
    return stopping.reached.is_set(), results["first"], results["second"]


def world_for_a_race(url: str) -> World:
    """Return a new world. All races on one database use the same connections."""
    return World(url, _ledger(url))


@cache
def _ledger(url: str) -> KeptLedger:
    return KeptLedger(url, connections=2)


@cache
def _kept(url: str) -> tuple[StoppingLedger, KeptLedger]:
    return StoppingLedger(url, connections=1), RacingLedger(url, connections=1)


def at_each_statement(meet: Callable[[int], bool], *, most: int) -> None:
    """Race two acts once for each statement of the first, before which it stops.

    ``meet`` returns whether the first act has the statement of this number. It must have fewer than ``most``.
    """
    for stop_before in range(most):
        if not meet(stop_before):
            return
    raise AssertionError("a handler has more statements than it should")


class Meeting(Protocol):
    """World of ``world_for_a_race`` that is prepared for two acts."""

    @property
    def world(self) -> World: ...


M = TypeVar("M", bound=Meeting)


class Acts:
    """Acts in one world. Their messages are returned and not delivered."""

    def __init__(self, url: str) -> None:
        self.world = world_for_a_race(url)
        #: Jobs that ``claim`` has claimed.
        self.taken: list[ClaimedJob] = []

    def handle(self, *messages: Message) -> Act:
        return lambda ledger: [
            sent for message in messages for sent in handle(ledger, self.world.catalogue, message)
        ]

    def plan(self, app: str, key: str | None = "1", *, id: str | None = None, **words: object) -> Act:
        """Submit a job, or work IDs, and plan it."""
        raw = msgspec.Raw(msgspec.json.encode({"app": app, "key": key, **words}))
        message = Submit(id=id or f"plan-{app}-{key}", submission=raw)
        return lambda ledger: taken_in(ledger, self.world.catalogue, message)

    def cancel(self, submission: str) -> Act:
        return self.handle(Cancel(submission=submission))

    def cancel_job(self, app: str) -> Act:
        return self.handle(Cancel(app=app, key="1"))

    def pause(self, submission: str) -> Act:
        return self.handle(Pause(submission=submission))

    def resume(self, submission: str) -> Act:
        return self.handle(Resume(submission=submission))

    def groom(self) -> Act:
        return self.handle(Tick())

    def claim(self, *names: str, worker: UUID | None = None) -> Act:
        """Claim jobs of one app by one message."""
        app = self.world.known(names[0]).app
        turns = tuple(JobRound(self.world.known(name).id, self.world.round(name)) for name in names)
        by = worker or self.world.worker

        def act(ledger: Ledger) -> list[Message]:
            message = Execute(app=app, jobs=turns)
            taken, messages = transactions.claim(ledger, self.world.catalogue, message, by)
            self.taken += taken
            return list(messages)

        return act

    def record(self, claimed: ClaimedJob, ending: Ending = Ending.DONE) -> Act:
        """Record the outcome of a claimed job."""
        return self.record_all([claimed], ending)

    def record_all(self, claimed: Iterable[ClaimedJob], ending: Ending = Ending.DONE) -> Act:
        """Record the outcomes of claimed jobs together."""
        outcomes = {each.right: Outcome(ending=ending) for each in claimed}
        return lambda ledger: list(transactions.record(ledger, outcomes)[0])

    def judge(self, job: int) -> Act:
        """Judge a job with a recorded outcome."""
        return self.handle(Executed(jobs=(job,)))

    def run(self, name: str, ending: Ending = Ending.DONE) -> int:
        """Claim a job now and record its outcome, without judging it. Return its ID."""
        claimed = self.world.take(name)
        self.record(claimed, ending)(self.world.ledger)
        return claimed.id


def meet(
    make: Callable[[], M],
    arrange: Callable[[M], Sequence[Act]],
    check: Callable[[M, Any, Any], None],
    *,
    swapped: bool,
    most: int,
) -> None:
    """Race two acts once for each statement of the first, which stops before it while the second runs.

    ``check`` gets the results in the order of ``arrange``, also if ``swapped`` makes the second act the first.
    """

    seen: set[object] = set()

    def meet_at(stop_before: int) -> bool:
        meeting = make()
        world = meeting.world
        acts = arrange(meeting)
        first, second = reversed(acts) if swapped else acts
        stopped, one, two = race(world.url, lambda: world.now, first, second, stop_before)
        check_rules(world, f"stopped before statement {stop_before}")
        if is_new(seen, world, one, two):
            check(meeting, *((two, one) if swapped else (one, two)))
            check_rules(world, f"at the end, stopped before statement {stop_before}")
        return stopped

    at_each_statement(meet_at, most=most)


def meet_and_finish(
    make: Callable[[], M],
    arrange: Callable[[M], Sequence[Act]],
    finish: Callable[[M], None],
    *,
    swapped: bool,
    most: int,
    before_delivery: Callable[[M], None] = lambda _: None,
) -> None:
    """Let two acts meet as ``meet`` does. After each race, deliver the messages of both and call ``finish``.

    The messages of the act that was stopped are delivered first.
    """

    def arrange_in_order(meeting: M) -> Sequence[Act]:
        acts = arrange(meeting)
        return [*reversed(acts)] if swapped else acts

    def check(meeting: M, first: list[Message] | None, second: list[Message] | None) -> None:
        before_delivery(meeting)
        meeting.world.queue.extend([*(first or []), *(second or [])])
        meeting.world.deliver()
        finish(meeting)

    meet(make, arrange_in_order, check, swapped=False, most=most)


def finish_all_jobs(
    world: World, *, tick_s: float = LEASE_S, before_each: Callable[[], None] = lambda: None
) -> None:
    """Run jobs until every requested job has ended, with a tick of ``tick_s`` seconds whenever no job is ready.

    Jobs that are only expected may stay. ``before_each`` is called before each job runs.
    """
    for _ in range(20):
        for name in sorted(world.ready()):
            before_each()
            world.finish(name)
        if not set(world.states().values()) & (LIVE - {State.EXPECTED}):
            return
        world.tick(after_s=tick_s)
    raise AssertionError(world.states())


def is_new(seen: set[object], world: World, *results: object) -> bool:
    """Return whether no earlier race had these results and left the ledger with the same rows.

    Most stops lead to the same two or three outcomes, and continuing from an outcome takes half of the time.
    """
    rows = world.ledger.transact(lambda tx: tx.rows(_CONTENTS))
    end = (*map(tuple, rows), *map(repr, results))
    if end in seen:
        return False
    seen.add(end)
    return True


def check_rules(world: World, when: str) -> None:
    """Check the ledger's rules. The message lists the broken ones, because pytest explains only test modules."""
    found = world.ledger.transact(breaches)
    assert found == [], f"{when}: {found}"


def _until_ended_or_waiting(url: str, thread: threading.Thread) -> None:
    """Wait until the thread has ended, or its transaction waits for a lock.

    Only one other transaction is open, and it is stopped. So a transaction that waits for a lock is the thread's.
    """
    deadline = time.monotonic() + WAIT_S
    while thread.is_alive() and time.monotonic() < deadline:
        if _eye(url).execute(_WAITING).fetchone():
            return
        thread.join(0.002)


@cache
def _eye(url: str) -> psycopg.Connection[Any]:
    connection = psycopg.connect(url, autocommit=True)
    atexit.register(connection.close)
    return connection
