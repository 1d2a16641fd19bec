"""JSON document of a worker (docs: the JSON of ``sluice workers``)."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import asdict

from sluice.jobs.model.pool import UNLIMITED
from sluice.jobs.states import State
from sluice.jobs.text.redaction import masked
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import fleet, pool_queue
from sluice.ledger.reads.pool_queue import Pools, PoolWaits, Slot
from sluice.ops.documents import Document


class SlotDocument(Document, frozen=True, kw_only=True):
    app: str
    key: str
    state: State
    since: datetime
    worker: str | None


class PoolDocument(Document, frozen=True, kw_only=True):
    pool: str
    pool_limit: int | None
    pool_limit_min: int | None
    waiting_for_slot: int
    taken: int
    slots: Sequence[SlotDocument]


class WorkerDocument(fleet.WorkerRow, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Worker with the pools of the jobs that it runs. The JSON is a list of workers, so each worker of a pool repeats
    the pool.
    """

    pools: Sequence[PoolDocument]


def workers_and_pools(tx: Tx) -> tuple[list[fleet.WorkerRow], Pools]:
    return fleet.workers(tx), pool_queue.pools(tx)


def as_document(worker: fleet.WorkerRow, pools: Pools) -> WorkerDocument:
    its_own = pools.workers.get(worker.id, [])
    return WorkerDocument(
        **asdict(worker), pools=[_of_pool(each, pools) for each in pools.told if each.pool in its_own]
    )


def _of_pool(pool: PoolWaits, pools: Pools) -> PoolDocument:
    return PoolDocument(
        pool=masked(pool.pool),
        pool_limit=None if pool.limit_max == UNLIMITED else pool.limit_max,
        pool_limit_min=None if pool.limit_min == UNLIMITED else pool.limit_min,
        waiting_for_slot=pool.behind,
        taken=pool.taken,
        slots=[SlotDocument.of(slot, worker=host_of(slot)) for slot in slots_of(pool, pools)],
    )


def slots_of(pool: PoolWaits, pools: Pools) -> list[Slot]:
    return [slot for slot in pools.slots if slot.pool == pool.pool]


def host_of(slot: Slot) -> str | None:
    return None if slot.host is None else f"{slot.host}:{slot.pid}"
