"""Number of jobs that workers could run at the same time, for ``sluice demand``, the console and autoscalers."""

import time
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import TypeVar

from msgspec import Struct

from sluice.jobs.errors import Unreachable
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads.backlog import HORIZON_S, Demand, demand

T = TypeVar("T")
Ask = Callable[[Callable[[Tx], T]], T]

#: Seconds for which an answer is reused for other callers.
RECENT_S = 1.0


class WorkerDemand(Struct, frozen=True, kw_only=True):
    """Demand for workers. ``demand`` is the sum over ``apps``: the number of jobs that could run at the same time, now
    or within the horizon. ``at_least``: a count was cut off, so the demand may be higher.
    """

    demand: int
    at_least: bool
    horizon_s: float
    apps: list[Demand]


def wanted(
    tx: Tx, apps: Sequence[str] = (), *, known: Iterable[str] = (), horizon_s: float = HORIZON_S
) -> WorkerDemand:
    """Return the demand of the named apps. Default: every app that has something to do or is in ``known``."""
    return _summed(demand(tx, apps, known=known, horizon_s=horizon_s), horizon_s)


class Recent:
    """Cache of the last answer. An autoscaler with three hundred apps sends as many requests, and one query for all
    apps costs the ledger as much as a query for one. Callers that arrive during a query wait for it. They get the same
    answer, or the same error.
    """

    def __init__(self, ask: Ask[list[Demand]]) -> None:
        self._ask = ask
        self._lock = Lock()
        self._at_s = float("-inf")
        self._told: dict[str, Demand] = {}
        self._trouble: Unreachable | None = None

    def wanted(self, apps: Sequence[str] = (), *, known: Iterable[str] = ()) -> WorkerDemand:
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


def _summed(found: list[Demand], horizon_s: float) -> WorkerDemand:
    return WorkerDemand(
        demand=sum(each.demand for each in found),
        at_least=any(each.at_least for each in found),
        horizon_s=horizon_s,
        apps=found,
    )
