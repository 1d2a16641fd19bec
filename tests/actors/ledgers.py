"""Ledgers that count what is asked of them, that refuse it, or whose caller dies."""

from collections.abc import Callable
from threading import Event, Semaphore
from typing import TypeVar

import msgspec

from sluice.ledger.connection import Ledger, Tx
from sluice.ledger.driver import Row
from sluice.ops.simulation.crashing import Crash
from tests.world import World

T = TypeVar("T")


class Counting(Ledger):
    """Counts statements."""

    def __init__(self, world: World) -> None:
        super().__init__(world.url, connections=1, clock=lambda: world.now)
        self.statements = 0

    def transact(self, work: Callable[[Tx], T]) -> T:
        return super().transact(lambda tx: work(_Counted(**msgspec.structs.asdict(tx), by=self)))


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
    """By the database's own clock. From ``refuse`` to ``relent`` it raises this whatever is asked of it."""

    def __init__(self, world: World) -> None:
        super().__init__(world.url, connections=1)
        self._error: Exception | None = None
        self._refusals = Semaphore(0)

    def refuse(self, error: Exception) -> None:
        self._error = error

    def relent(self) -> None:
        self._error = None

    def has_refused(self, times: int, *, within_s: float = 20.0) -> bool:
        """Wait for so many refusals."""
        return all(self._refusals.acquire(timeout=within_s) for _ in range(times))

    def transact(self, work: Callable[[Tx], T]) -> T:
        if self._error is not None:
            self._refusals.release()
            raise self._error
        return super().transact(work)


class Silent(Ledger):
    """By the database's own clock. From ``hang`` to ``answer`` every request waits, as on a connection that is open and
    brings no answers."""

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
        """Wait until something is asked that is not answered."""
        return self._waiting.acquire(timeout=within_s)

    def transact(self, work: Callable[[Tx], T]) -> T:
        if not self._answers.is_set():
            self._waiting.release()
            self._answers.wait()
        return super().transact(work)


class Late(Ledger):
    """``before_answer`` is called between each commit and its answer."""

    def __init__(self, world: World, before_answer: Callable[[], None]) -> None:
        super().__init__(world.url, connections=1, clock=lambda: world.now)
        self._before_answer = before_answer

    def transact(self, work: Callable[[Tx], T]) -> T:
        result = super().transact(work)
        self._before_answer()
        return result


class Dying(Ledger):
    """Its process dies around the commit of this number: before it, or after it, when the answer is ``lost``."""

    def __init__(self, world: World, commits: int, *, lost: bool) -> None:
        super().__init__(world.url, connections=1, clock=lambda: world.now)
        self._left = commits
        self._lost = lost

    def transact(self, work: Callable[[Tx], T]) -> T:
        self._left -= 1
        if self._left == -1 and not self._lost:
            raise Crash
        result = super().transact(work)
        if self._left == -1:
            raise Crash
        return result
