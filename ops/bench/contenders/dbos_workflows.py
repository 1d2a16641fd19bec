"""DBOS workflows, and ``python -m sluice.ops.bench.contenders.dbos_workflows NAME``, a process that runs them until
SIGTERM.

When the process has begun to poll for workflows, it leaves a mark with its own process ID.

A chain is one workflow with its jobs as steps. A fan is a workflow that enqueues its children and waits for all of
them. The layers are a workflow that does this layer by layer. DBOS has no edges between workflows, so a layer waits
for the whole layer before it, which is less work than edges are.
"""

import os
import signal
import sys

from dbos import DBOS, DBOSConfig

from sluice.ops.bench.contenders.dbos import APPLICATION, POLL_EVERY_S, QUEUE
from sluice.ops.bench.shapes import CHAIN, CHILDREN, LAYERS, WIDTH
from sluice.ops.bench.timestamps import marker

mark = marker()
OF_A_FAN = CHILDREN + 2
#: Seconds that workflows have to end after SIGTERM. A workflow that has left its last mark may not be recorded yet.
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
    """Run a worker under this name until SIGTERM.

    Two workers of the same name would each treat the other's workflows as its own unfinished workflows.
    """
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
