"""Command ``sluice workers``: list the workers and the jobs that they hold."""

import argparse
from collections.abc import Iterator, Sequence

from sluice.jobs.model.pool import UNLIMITED, spoken
from sluice.jobs.states import State
from sluice.ledger.reads import fleet
from sluice.ledger.reads.pool_queue import COUNTED_MAX, Pools, PoolWaits, Slot
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import watch_option
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.documents.worker_document import as_document, host_of, slots_of, workers_and_pools
from sluice.ops.operations.installation import Installation
from sluice.ops.text import moment


def options(parser: argparse.ArgumentParser) -> None:
    watch_option(parser)


def run(context: CommandContext, _: Options) -> int:
    found, pools = Installation(context).ask(workers_and_pools)
    documents = [as_document(each, pools) for each in found]
    context.output.answer(documents, _table(found), *_problems(found), *_lines(pools))
    return DONE


def _table(found: Sequence[fleet.WorkerRow]) -> Block:
    return Table(
        ("worker", "alive", "running", "threads", "started (UTC)", "lease until (UTC)", "queues"),
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
        empty="No worker is running. Start one: sluice up, or sluice worker",
    )


def _problems(found: Sequence[fleet.WorkerRow]) -> Iterator[Block]:
    for each in found:
        if each.definitions_problem:
            yield Paragraph(
                f"{each.host}:{each.pid} keeps old definitions: {each.definitions_problem}.", "yellow"
            )


def _lines(pools: Pools) -> Iterator[Block]:
    if not pools.told:
        return
    yield Paragraph()
    rows = [
        (spoken(each.pool), _limit(each), _count(each.behind), _holders(each, pools)) for each in pools.told
    ]
    yield Table(("pool", "at once", "waiting for a slot", "jobs with a slot"), rows, prose=True)
    if pools.more:
        many = _count(pools.more)
        yield Paragraph(
            f"Jobs wait for slots of {many} more {'pool' if pools.more == 1 else 'pools'}.", "bright_black"
        )


def _limit(pool: PoolWaits) -> str:
    """Return the limit of the pool, or the range of its limits. Each job has the limit with which it was planned. Jobs
    that only have a rate limit have none."""
    if pool.limit_max == UNLIMITED:
        return "any number; only its starts are limited"
    if pool.limit_min == pool.limit_max:
        return str(pool.limit_max)
    return f"{pool.limit_min} to {pool.limit_max}"


def _holders(pool: PoolWaits, pools: Pools) -> str:
    told = [f"{slot.name} ({_standing(slot)})" for slot in slots_of(pool, pools)]
    more = pool.taken - len(told)
    last = f"{_count(more)} more" if pool.taken <= COUNTED_MAX else "many more"
    return ", ".join([*told, last] if more > 0 else told) or "none; the groomer will admit the next job"


def _standing(slot: Slot) -> str:
    if slot.host is not None:
        return f"{slot.state}, {host_of(slot)}"
    return str(slot.state) if slot.state is State.READY else f"{slot.state} as external work"


def _count(number: int) -> str:
    return f"more than {COUNTED_MAX}" if number > COUNTED_MAX else str(number)
