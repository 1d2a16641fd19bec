"""Time from ``submit`` to the result of a job that takes a millisecond: ``python -m sluice.ops.bench.handle_latency``.

``sluice up`` runs with its embedded Postgres and the broker in its memory. A client in another process submits the jobs
one after another, and then all at once.
"""

import asyncio
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from sluice.actors.async_client import AsyncClient, AsyncHandle
from sluice.actors.client import Client, Handle
from sluice.actors.connect import connect
from sluice.jobs.model.results import JobRequest
from sluice.ledger.embedded import start
from sluice.ledger.schema import migrate
from sluice.ops.bench.shapes import scaled
from sluice.ops.bench.workers import crew

SOURCE = """
import time
from sluice import app

@app(job_id="{n}", identifiers={"n": "int"})
def nap(n) -> int:
    time.sleep(0.001)
    return n
"""
JOBS = scaled(200)
WARM_UP = 20
WITHIN_S = 60.0


def main() -> None:
    with TemporaryDirectory() as folder, _running(Path(folder)) as ledger_url:
        with connect(ledger_url=ledger_url, broker_url="memory://") as client:
            for number in range(WARM_UP):
                _took_ms(client, -1 - number)
            _report(
                "one after another, submit to result", [_took_ms(client, number) for number in range(JOBS)]
            )
        _report("all at once, submit to result", asyncio.run(_all_at_once_ms(ledger_url)))


@contextmanager
def _running(folder: Path) -> Iterator[str]:
    """Run the process that works, and yield the address of its ledger."""
    (folder / "nap.py").write_text(SOURCE)
    with start(folder / "home") as postgres:
        migrate.upgrade(postgres.url)
        environment = {
            "SLUICE_APPS": str(folder / "nap.py"),
            "SLUICE_LEDGER_URL": postgres.url,
            "SLUICE_BROKER_URL": "memory://",
            "SLUICE_HOME": str(folder / "home"),
        }
        command = [sys.executable, "-m", "sluice.ops.cli.main", "up", "--listen", "127.0.0.1:0"]
        with crew([command], folder, environment):
            yield postgres.url


def _took_ms(client: Client, number: int) -> float:
    began = time.monotonic()
    handle: Handle[int] = client.submit(JobRequest(app="nap", key=str(number), decode=int))
    if handle.result(WITHIN_S) != number:
        raise AssertionError(f"nap/{number} has another result")
    return (time.monotonic() - began) * 1000


async def _all_at_once_ms(ledger_url: str) -> list[float]:
    async with AsyncClient(ledger_url=ledger_url, broker_url="memory://") as client:

        async def took_ms(number: int) -> float:
            began = time.monotonic()
            handle: AsyncHandle[int] = await client.submit(JobRequest(app="nap", key=str(number), decode=int))
            await handle.result(WITHIN_S)
            return (time.monotonic() - began) * 1000

        return [*await asyncio.gather(*(took_ms(JOBS + number) for number in range(JOBS)))]


def _report(what: str, took_ms: list[float]) -> None:
    p95_ms = sorted(took_ms)[math.ceil(len(took_ms) * 0.95) - 1]
    print(f"{what}: median {median(took_ms):.1f} ms, p95 {p95_ms:.1f} ms, {len(took_ms)} jobs")


if __name__ == "__main__":
    main()
