"""PgQueuer jobs, and ``python -m sluice.ops.bench.contenders.pgqueuer_jobs BATCH``, a process that takes BATCH jobs at
a time.

A chain is a job that enqueues the next job. The process does the same as PgQueuer's own worker command, which does
not start with every version of the library that parses its command line.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import uvloop
from pgqueuer import Job, PgQueuer, Queries, run

from sluice.ops.bench.shapes import CHAIN
from sluice.ops.bench.timestamps import marker

mark = marker()


@asynccontextmanager
async def worker() -> AsyncIterator[PgQueuer]:
    """Yield a queue that takes the jobs of this process. The process first leaves a mark with its own process ID."""
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
