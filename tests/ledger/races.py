"""Two transactions at once: one stops before its n-th statement while the other runs until it ends or waits."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any, Protocol, TypeVar

import psycopg

from ledger.connection import Ledger, Tx
from ledger.driver import Row
from ledger.reads.check import breaches
from tests.world import KeptLedger, World

T = TypeVar("T")

#: Longer than Postgres takes to notice a deadlock.
WAIT_S = 10.0


class _Stops(Tx, frozen=True, kw_only=True):
    """A transaction that asks ``gate`` before each statement."""

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


class StoppingLedger(KeptLedger):
    """Stops once, before the statement of the number that it is told (0 is the first), until it is told to go on."""

    def stop_before(self, number: int) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()
        self._left = number

    @contextmanager
    def begin(self) -> Iterator[Tx]:
        with super().begin() as tx:
            yield _Stops(tx.connection, tx.now, gate=self._gate)

    def _gate(self) -> None:
        self._left -= 1
        if self._left == -1:
            self.reached.set()
            assert self.go_on.wait(WAIT_S), "nobody let this transaction go on"


def race(
    url: str,
    clock: Callable[[], datetime],
    first: Callable[[Ledger], T],
    second: Callable[[Ledger], T],
    stop_before: int,
) -> tuple[bool, T | None, T | None]:
    """Whether the first has so many statements, and what both returned."""
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
            assert not thread.is_alive(), "the two wait for each other for ever"
    except AssertionError:
        _kept.cache_clear()
        raise
    assert results.keys() == {"first", "second"}, "one of the two raised"
    assert stop_before or stopping.reached.is_set(), "a transaction begins before its first statement"
    return stopping.reached.is_set(), results["first"], results["second"]


def world_for_a_race(url: str) -> World:
    """Of many races on one database each has a new world, and all the same connections."""
    return World(url, _ledger(url))


@cache
def _ledger(url: str) -> KeptLedger:
    return KeptLedger(url, connections=2)


@cache
def _kept(url: str) -> tuple[StoppingLedger, KeptLedger]:
    return StoppingLedger(url, connections=1), KeptLedger(url, connections=1)


def at_each_statement(meet: Callable[[int], bool], *, most: int) -> None:
    """Have two meet with the one stopped before each of its statements in turn; ``meet`` says whether it has so many.
    It has no more than ``most``."""
    for stop_before in range(most):
        if not meet(stop_before):
            return
    raise AssertionError("a handler has more statements than it should")


class Meeting(Protocol):
    """A world, as two who are about to meet find it."""

    @property
    def world(self) -> World: ...


M = TypeVar("M", bound=Meeting)


def meet(
    make: Callable[[], M],
    arrange: Callable[[M], Sequence[Callable[[Ledger], Any]]],
    check: Callable[[M, Any, Any], None],
    *,
    swapped: bool,
    most: int,
) -> None:
    """Stop the one before each of its statements in turn, and let the other run into it."""

    def meet_at(stop_before: int) -> bool:
        meeting = make()
        with meeting.world as world:
            acts = arrange(meeting)
            first, second = reversed(acts) if swapped else acts
            stopped, one, two = race(world.url, lambda: world.now, first, second, stop_before)
            assert world.ledger.transact(breaches) == [], f"stopped before statement {stop_before}"
            check(meeting, *((two, one) if swapped else (one, two)))
        return stopped

    at_each_statement(meet_at, most=most)


def _until_ended_or_waiting(url: str, thread: threading.Thread) -> None:
    """Only one other transaction is open, so a lock that is waited for is the second one's."""
    with psycopg.connect(url, autocommit=True) as eye:
        deadline = time.monotonic() + WAIT_S
        while thread.is_alive() and time.monotonic() < deadline:
            waiting = eye.execute(
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
            if waiting:
                return
            thread.join(0.002)
