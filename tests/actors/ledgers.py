"""Ledgers that count statements, refuse requests, do not answer, or simulate the death of their caller."""

from collections.abc import Callable
from threading import Event, Semaphore
from typing import TypeVar

import msgspec

from sluice.jobs.observe.failpoints import CommitPoints
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.driver import Row
from sluice.ops.simulation.mortal_ledger import SimulatedDeath
from tests.world import World

T = TypeVar("T")


class Counting(Ledger):
    """Ledger that counts its statements."""

    def __init__(self, world: World) -> None:
        super().__init__(world.url, connections=1, clock=lambda: world.now)
        self.statements = 0

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        return super().transact(lambda tx: work(_Counted(**msgspec.structs.asdict(tx), by=self)), at)


class _Counted(Tx, frozen=True, kw_only=True):
    by: Counting

    def rows(self, sql: str, **params: object) -> list[Row]:
        self.by.statements += 1
        return super().rows(sql, **params)

    def structs(self, kind: type[T], sql: str, **params: object) -> list[T]:
        self.by.statements += 1
        return super().structs(kind, sql, **params)

    def write(self, sql: str, **params: object) -> int:
        self.by.statements += 1
        return super().write(sql, **params)


class Refusing(Ledger):
    """Ledger that raises an error for every request between ``refuse`` and ``relent``. It uses the database's clock."""

    def __init__(self, world: World) -> None:
        super().__init__(world.url, connections=1)
        self._error: Exception | None = None
        self._refusals = Semaphore(0)

    def refuse(self, error: Exception) -> None:
        self._error = error

    def relent(self) -> None:
        self._error = None

    def has_refused(self, times: int, *, within_s: float = 20.0) -> bool:
        """Return whether this many refusals happen. Wait at most ``within_s`` for each."""
        return all(self._refusals.acquire(timeout=within_s) for _ in range(times))

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        if self._error is not None:
            self._refusals.release()
            raise self._error
        return super().transact(work, at)


class Silent(Ledger):
    """Ledger on which every request waits between ``hang`` and ``answer``, as on an open connection that brings no
    answers. It uses the database's clock."""

    def __init__(self, world: World) -> None:
        super().__init__(world.url, connections=2)
        self._answers = Event()
        self._answers.set()
        self._waiting = Semaphore(0)

    def hang(self) -> None:
        self._answers.clear()

    def answer(self) -> None:
        self._answers.set()

    def is_waited_for(self, *, within_s: float = 20.0) -> bool:
        """Return whether a request waits for an answer within this time."""
        return self._waiting.acquire(timeout=within_s)

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        if not self._answers.is_set():
            self._waiting.release()
            self._answers.wait()
        return super().transact(work, at)


class Late(Ledger):
    """Ledger that calls ``before_answer`` between each commit and its answer."""

    def __init__(self, world: World, before_answer: Callable[[], None]) -> None:
        super().__init__(world.url, connections=1, clock=lambda: world.now)
        self._before_answer = before_answer

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        result = super().transact(work, at)
        self._before_answer()
        return result


class Dying(Ledger):
    """Ledger that simulates the death of its process at the commit with this number: before the commit, or after it if
    the answer is ``lost``."""

    def __init__(self, world: World, commits: int, *, lost: bool) -> None:
        super().__init__(world.url, connections=1, clock=lambda: world.now)
        self._left = commits
        self._lost = lost

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        self._left -= 1
        if self._left == -1 and not self._lost:
            raise SimulatedDeath
        result = super().transact(work, at)
        if self._left == -1:
            raise SimulatedDeath
        return result
