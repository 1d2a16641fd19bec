"""How much work there is for workers, as the command, the console and whoever scales them tell it."""

import time
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import TypeVar

from msgspec import Struct

from sluice.jobs.errors import Unreachable
from sluice.ledger.connection import Tx
from sluice.ledger.reads.demand import HORIZON_S, Demand, demand

T = TypeVar("T")
Ask = Callable[[Callable[[Tx], T]], T]

#: So long an answer will do for others who ask the same.
RECENT_S = 1.0


class Wanted(Struct, frozen=True, kw_only=True):
    """``demand`` is the sum over the ``apps``: so many jobs could be run at once, now or within the horizon."""

    demand: int
    at_least: bool
    horizon_s: float
    apps: list[Demand]


def wanted(
    tx: Tx, apps: Sequence[str] = (), *, known: Iterable[str] = (), horizon_s: float = HORIZON_S
) -> Wanted:
    """Of these apps, or of all that there are; those that are ``known`` also where they have nothing to do."""
    return _summed(demand(tx, apps, known=known, horizon_s=horizon_s), horizon_s)


class Recent:
    """What was told last. Who scales three hundred apps asks as often; what the ledger is asked for all of them at once
    costs it as much as for one. Those who ask meanwhile wait, and are told the same, be it that nobody can say."""

    def __init__(self, ask: Ask[list[Demand]]) -> None:
        self._ask = ask
        self._lock = Lock()
        self._at_s = float("-inf")
        self._told: dict[str, Demand] = {}
        self._trouble: Unreachable | None = None

    def wanted(self, apps: Sequence[str] = (), *, known: Iterable[str] = ()) -> Wanted:
        with self._lock:
            if time.monotonic() - self._at_s >= RECENT_S:
                self._look()
            told, trouble = self._told, self._trouble
        if trouble is not None:
            raise Unreachable(trouble.what, where=trouble.where, advice=trouble.advice)
        named = apps or sorted({*told, *known})
        return _summed([told.get(app, Demand(app=app)) for app in dict.fromkeys(named)], HORIZON_S)

    def _look(self) -> None:
        try:
            self._told, self._trouble = {each.app: each for each in self._ask(demand)}, None
        except Unreachable as error:
            self._trouble = error
        self._at_s = time.monotonic()


def _summed(found: list[Demand], horizon_s: float) -> Wanted:
    return Wanted(
        demand=sum(each.demand for each in found),
        at_least=any(each.at_least for each in found),
        horizon_s=horizon_s,
        apps=found,
    )
