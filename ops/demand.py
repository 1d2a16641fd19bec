"""How much work there is for workers, as the command, the console and whoever scales them tell it."""

from collections.abc import Sequence

from msgspec import Struct

from jobs.catalogue import Catalogue
from ledger.connection import Tx
from ledger.reads.demand import HORIZON_S, Demand, demand


class Wanted(Struct, frozen=True, kw_only=True):
    """``demand`` is the sum over the ``apps``: so many jobs could be run at once, now or within the horizon."""

    demand: int
    at_least: bool
    horizon_s: float
    apps: list[Demand]


def wanted(
    tx: Tx, apps: Sequence[str] = (), *, catalogue: Catalogue | None = None, horizon_s: float = HORIZON_S
) -> Wanted:
    """Of these apps, or of all that there are; those of a catalogue also where they have nothing to do."""
    known = catalogue.queues if catalogue and not apps else ()
    found = demand(tx, apps, known=known, horizon_s=horizon_s)
    return Wanted(
        demand=sum(each.demand for each in found),
        at_least=any(each.at_least for each in found),
        horizon_s=horizon_s,
        apps=found,
    )
