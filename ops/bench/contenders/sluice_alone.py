"""Benchmarks that only Sluice runs: they measure a worker, or the effect of other rows in the ledger."""

import math
from collections.abc import Callable, Mapping
from contextlib import closing

from sluice.actors.planner import handlers
from sluice.broker.connect import connect
from sluice.broker.messages import Plan
from sluice.jobs.catalogue import load
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger import fixtures
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import submissions
from sluice.ops.bench.contenders.sluice_submitter import APPS, command, environment, submitter_of
from sluice.ops.bench.environment import BenchEnvironment
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import BLOCKED, FLAT, LIMIT_PROCESSES, LIMITED, PAST, WARM_UP, beside
from sluice.ops.bench.start_time import started

#: First number of new jobs, above the numbers of all jobs that ran before.
_AFTER_FLAT = FLAT + WARM_UP


def _start(ground: BenchEnvironment) -> Figures:
    """Measure the start of one worker. Its job is planned first, so that only a message is left to be found."""
    ground.marks()
    wanted = Submission(app="bench_flat", key="0", id="start")
    with closing(Ledger(ground.ledger_url)) as ledger, closing(connect(ground.broker_url)) as broker:
        ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
        broker.publish(handlers.plan(ledger, load([APPS]), Plan(submissions=("start",))))
    return started(ground, command(processes=1), environment(ground))


def _blocked(ground: BenchEnvironment) -> Figures:
    with submitter_of(ground) as submitter:
        empty = submitter.flat()
        submitter.client.submit(Submission(app=BLOCKED, id="blocked"))
        submitter.until_planned("blocked")
        fixtures.tidy(ground.ledger_url)
        figures = beside("empty", empty, submitter.flat(_AFTER_FLAT))
        return {
            **figures,
            "waiting_jobs": submitter.ledger.transact(lambda tx: fixtures.jobs(tx, State.WAITING)),
        }


def _history(ground: BenchEnvironment) -> Figures:
    """Run ``flat`` on a ledger with a long history. The history is copied from rows that real workers wrote.

    Table sizes are read after all connections have closed, because the statistics are complete only then.
    """
    times = math.ceil(PAST / _AFTER_FLAT) - 1
    with submitter_of(ground) as submitter:
        empty = submitter.flat()
        submitter.ledger.transact(lambda tx: fixtures.multiply(tx, times))
        fixtures.tidy(ground.ledger_url)
        past = submitter.ledger.transact(lambda tx: fixtures.jobs(tx, State.SUCCEEDED))
        figures = beside("empty", empty, submitter.flat((times + 1) * _AFTER_FLAT))
    with closing(Ledger(ground.ledger_url)) as ledger:
        tables = ledger.transact(fixtures.sizes)
    return {
        **figures,
        "past_jobs": past,
        **{f"{each.table}_mb": each.bytes / 2**20 for each in tables},
        **{f"{each.table}_dead_rows": each.dead_rows for each in tables},
    }


def _limit(ground: BenchEnvironment) -> Figures:
    with submitter_of(ground, LIMIT_PROCESSES) as submitter:
        submitter.warm_up(LIMITED)
        unlimited = submitter.flat()
        return beside("unlimited", unlimited, submitter.flat(app=LIMITED))


COURSES: Mapping[str, Callable[[BenchEnvironment], Figures]] = {
    "start": _start,
    "blocked": _blocked,
    "history": _history,
    "limit": _limit,
}
