"""Jobs on PgQueuer, and ``python -m sluice.ops.bench.contenders.pgqueuer_jobs BATCH``: a process that takes so many at
once. A chain is a job that enqueues the next.

This does what PgQueuer's own worker command does, which does not start with all versions of what parses its words.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import uvloop
from pgqueuer import Job, PgQueuer, Queries, run

from sluice.ops.bench.courses import CHAIN
from sluice.ops.bench.marks import marker

mark = marker()


@asynccontextmanager
async def worker() -> AsyncIterator[PgQueuer]:
    """What takes the jobs of one process, which leaves a mark with its own number first."""
    connection = await asyncpg.connect(os.environ["BENCH_LEDGER_URL"])
    try:
        queuer = PgQueuer.from_asyncpg_connection(connection)
        _declare(queuer, Queries(queuer.connection))
        mark(os.getpid())
        yield queuer
    finally:
        await connection.close()


def _declare(queuer: PgQueuer, queries: Queries) -> None:
    @queuer.entrypoint("flat")
    async def flat(job: Job) -> None:
        mark(int(job.payload))

    @queuer.entrypoint("hop")
    async def hop(job: Job) -> None:
        n = int(job.payload)
        mark(n)
        if n + 1 < CHAIN:
            await queries.enqueue("hop", b"%d" % (n + 1))


if __name__ == "__main__":
    uvloop.run(run(worker, batch_size=int(sys.argv[1])))
