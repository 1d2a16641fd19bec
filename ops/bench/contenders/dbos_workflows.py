"""Workflows on DBOS, and ``python -m sluice.ops.bench.contenders.dbos_workflows NAME``: a process that runs them until
it is told to end. When it has begun to look for them it leaves a mark with its own number.

A chain is one workflow whose steps are its jobs. A fan is a workflow that enqueues its children and waits for all of
them, and so are the layers, one after the other: DBOS has no edges between workflows, so a layer waits for the whole
of the one before, which is less work than edges are.
"""

import os
import signal
import sys

from dbos import DBOS, DBOSConfig

from sluice.ops.bench.contenders.dbos import APPLICATION, POLL_EVERY_S, QUEUE
from sluice.ops.bench.courses import CHAIN, CHILDREN, LAYERS, WIDTH
from sluice.ops.bench.marks import marker

mark = marker()
OF_A_FAN = CHILDREN + 2
#: What has left its last mark has yet to be written down.
_END_WITHIN_S = 5


@DBOS.workflow(name="flat")
def flat(n: int) -> None:
    mark(n)


@DBOS.step(name="part")
def part(n: int) -> None:
    mark(n)


@DBOS.workflow(name="chain")
def chain() -> None:
    for n in range(CHAIN):
        part(n)


@DBOS.workflow(name="fan")
def fan(number: int) -> None:
    first = number * OF_A_FAN
    part(first)
    _all_of(range(first + 1, first + 1 + CHILDREN))
    part(first + CHILDREN + 1)


@DBOS.workflow(name="layers")
def layers() -> None:
    for layer in range(LAYERS):
        _all_of(range(layer * WIDTH, (layer + 1) * WIDTH))


def _all_of(numbers: range) -> None:
    for handle in [DBOS.enqueue_workflow(QUEUE, flat, n) for n in numbers]:
        handle.get_result(polling_interval_sec=POLL_EVERY_S)


def _work(name: str) -> None:
    """Two of the same name would each take the other's workflows for its own, left behind."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    config = DBOSConfig(
        name=APPLICATION,
        application_version=APPLICATION,
        executor_id=name,
        system_database_url=os.environ["BENCH_LEDGER_URL"],
        run_migrations=False,
        log_level="WARNING",
    )
    DBOS(config=config)
    DBOS.launch()
    mark(os.getpid())
    signal.sigwait({signal.SIGTERM})
    DBOS.destroy(workflow_completion_timeout_sec=_END_WITHIN_S)


if __name__ == "__main__":
    _work(sys.argv[1])
