"""PgQueuer: a queue in a Postgres table.

A worker takes many jobs at a time. The number of ends that it records at a time is left at its default. PgQueuer
has no dependencies between jobs, so it does not run ``fan`` and ``layers``.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct

from sluice.ops.bench.environment import BenchEnvironment, Contender, at_desks, begun, timed
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import CHAIN, FLAT, WARM_UP, bulks, hops
from sluice.ops.bench.timestamps import Marks
from sluice.ops.bench.workers import CommandProcesses

_JOBS = "sluice.ops.bench.contenders.pgqueuer_jobs"
#: Jobs that a worker takes at a time. The default of PgQueuer is 10, which is slower for jobs that do nothing.
BATCH = 200


class _Submitter(Struct, frozen=True):
    """Connections of the process that starts a benchmark. PgQueuer's client is asynchronous; ``wait`` runs a
    coroutine.
    """

    crew: CommandProcesses
    marks: Marks
    queries: Any
    wait: Callable[[Coroutine[Any, Any, Any]], Any]

    def enqueue(self, job: str, numbers: Sequence[int]) -> None:
        """Enqueue several jobs with one call."""
        payloads = [str(n).encode() for n in numbers]
        self.wait(self.queries.enqueue([job] * len(numbers), payloads, [0] * len(numbers)))


def _flat(submitter: _Submitter) -> None:
    for some in bulks(FLAT):
        submitter.enqueue("flat", some)


def _flat_singly(submitter: _Submitter) -> None:
    for n in range(FLAT):
        submitter.enqueue("flat", [n])


def _chain(submitter: _Submitter) -> None:
    submitter.enqueue("hop", [0])


@contextmanager
def _submitter(ground: BenchEnvironment, processes: int) -> Iterator[_Submitter]:
    """Create the tables, start the workers and warm them up."""
    import asyncpg  # noqa: PLC0415 - it need not be installed
    from pgqueuer import Queries  # noqa: PLC0415 - nor need this

    command = [sys.executable, "-m", _JOBS, str(BATCH)]
    # asyncpg takes the options of libpq for settings of the server. Host and port may be in the query, too.
    parts = urlsplit(ground.ledger_url)
    query = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] in ("host", "port")])
    url = parts._replace(query=query).geturl()
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(url))
        try:
            queries = Queries.from_asyncpg_connection(connection)
            runner.run(queries.install())
            environment = {"BENCH_LEDGER_URL": url}
            with ground.crew([command] * processes, environment) as (crew, marks):
                submitter = _Submitter(crew, marks, queries, runner.run)
                begun(crew, marks, processes)
                timed(marks, WARM_UP, lambda: submitter.enqueue("flat", range(FLAT, FLAT + WARM_UP)))
                yield submitter
        finally:
            runner.run(connection.close())


_run = at_desks(_submitter)
COURSES: Mapping[str, Callable[[BenchEnvironment], Figures]] = {
    "flat": partial(_run, ask=_flat, jobs=FLAT),
    "flat-singly": partial(_run, ask=_flat_singly, jobs=FLAT),
    "chain": partial(_run, ask=_chain, jobs=CHAIN, told=hops),
    "chain-in-one": partial(_run, ask=_chain, jobs=CHAIN, processes=1, told=hops),
}
PGQUEUER = Contender(f"PgQueuer, taking {BATCH} jobs at once", COURSES, ["pgqueuer", "asyncpg"])
