"""Ledgers that count what is asked of them, or whose caller dies."""

from collections.abc import Callable
from typing import TypeVar

from ledger.connection import Ledger, Tx
from ledger.driver import Row
from tests.simulation.crashing import Crash
from tests.world import World

T = TypeVar("T")


class Counting(Ledger):
    """Counts statements."""

    def __init__(self, world: World) -> None:
        super().__init__(world.url, connections=1, clock=lambda: world.now)
        self.statements = 0

    def transact(self, work: Callable[[Tx], T]) -> T:
        return super().transact(lambda tx: work(_Counted(tx.connection, tx.now, tx.pools, by=self)))


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
