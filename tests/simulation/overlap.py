"""Ledger of a world in which something else may happen before each statement of a transaction."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from sluice.ledger.database.connection import Tx
from sluice.ledger.database.driver import Row
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.mortal_ledger import CrashingLedger

T = TypeVar("T")
#: Called with a transaction and its next statement.
Between = Callable[[Tx, str], None]


class OverlappedTx(Tx, frozen=True, kw_only=True):
    """Transaction that calls ``between`` before each statement. A procedure is one statement."""

    between: Between

    def rows(self, sql: str, **params: object) -> list[Row]:
        self.between(self, sql)
        return super().rows(sql, **params)

    def structs(self, kind: type[T], sql: str, **params: object) -> list[T]:
        self.between(self, sql)
        return super().structs(kind, sql, **params)

    def write(self, sql: str, **params: object) -> int:
        self.between(self, sql)
        return super().write(sql, **params)


class OverlappedLedger(CrashingLedger):
    """Ledger with crashes that calls ``between`` before each statement, if it is set. A new simulation resets it."""

    between: Between | None = None

    def be_struck_by(self, fate: FaultSource) -> None:
        super().be_struck_by(fate)
        self.between = None

    @contextmanager
    def begin(self) -> Iterator[Tx]:
        with super().begin() as tx:
            yield tx if self.between is None else overlapped(tx, self.between)


def overlapped(tx: Tx, between: Between) -> Tx:
    """Return the same transaction, with ``between`` before each statement."""
    return OverlappedTx(**msgspec.structs.asdict(tx), between=between)
