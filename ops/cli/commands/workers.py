"""``sluice workers``: who is there, and what they hold."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import asdict

from jobs.masking import masked
from jobs.pooling import spoken
from jobs.states import State
from ledger.connection import Tx
from ledger.reads import fleet, lines
from ledger.reads.lines import COUNTED_MAX, Pool, Pools, Slot
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.page import Block, Line, Table
from ops.times import moment


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: Desk, _: Options) -> int:
    found, pools = Installation(desk).ask(_workers_and_pools)
    desk.output.answer([_document(each, pools) for each in found], _table(found), *_lines(pools))
    return DONE


def _workers_and_pools(tx: Tx) -> tuple[list[fleet.Worker], Pools]:
    return fleet.workers(tx), lines.pools(tx)


def _document(worker: fleet.Worker, pools: Pools) -> dict[str, Any]:
    """The answer is a list of workers, so a pool stands with each worker that runs jobs of it."""
    its_own = pools.workers.get(worker.id, [])
    return {**asdict(worker), "pools": [_of_pool(each, pools) for each in pools.told if each.pool in its_own]}


def _of_pool(pool: Pool, pools: Pools) -> dict[str, Any]:
    return {
        "pool": masked(pool.pool),
        "pool_limit": pool.limit_max,
        "pool_limit_min": pool.limit_min,
        "queued": pool.behind,
        "taken": pool.taken,
        "slots": [
            {
                "app": slot.app,
                "key": slot.key,
                "state": slot.state,
                "since": slot.since,
                "worker": _host(slot),
            }
            for slot in _slots(pool, pools)
        ],
    }


def _table(found: Sequence[fleet.Worker]) -> Block:
    return Table(
        ("worker", "alive", "running", "threads", "there since (UTC)", "lease until (UTC)", "queues"),
        [
            (
                f"{each.host}:{each.pid}",
                "yes" if each.alive else "lost",
                each.running,
                each.threads or "none",
                moment(each.started_at),
                moment(each.lease_until),
                ", ".join(each.queues) or "all",
            )
            for each in found
        ],
        prose=True,
        empty="No worker is there. Start one: sluice up, or python -m actors.worker",
    )


def _lines(pools: Pools) -> Iterator[Block]:
    if not pools.told:
        return
    yield Line()
    rows = [
        (spoken(each.pool), _limit(each), _count(each.behind), _holders(each, pools)) for each in pools.told
    ]
    yield Table(("jobs in line for", "at once", "in line", "who has the slots"), rows, prose=True)
    if pools.more:
        many = _count(pools.more)
        yield Line(
            f"Jobs stand in line for {many} more {'pool' if pools.more == 1 else 'pools'}.", "bright_black"
        )


def _limit(pool: Pool) -> str:
    """Each job goes by the limit that it was planned with."""
    if pool.limit_min == pool.limit_max:
        return str(pool.limit_max)
    return f"{pool.limit_min} to {pool.limit_max}"


def _holders(pool: Pool, pools: Pools) -> str:
    told = [f"{slot.name} ({_standing(slot)})" for slot in _slots(pool, pools)]
    more = pool.taken - len(told)
    last = f"{_count(more)} more" if pool.taken <= COUNTED_MAX else "many more"
    return ", ".join([*told, last] if more > 0 else told) or "nobody; the groomer will let the next in"


def _standing(slot: Slot) -> str:
    if slot.host is not None:
        return f"{slot.state}, {_host(slot)}"
    return str(slot.state) if slot.state is State.READY else f"{slot.state} elsewhere"


def _slots(pool: Pool, pools: Pools) -> list[Slot]:
    return [slot for slot in pools.slots if slot.pool == pool.pool]


def _host(slot: Slot) -> str | None:
    return None if slot.host is None else f"{slot.host}:{slot.pid}"


def _count(number: int) -> str:
    return f"more than {COUNTED_MAX}" if number > COUNTED_MAX else str(number)
