"""``sluice up`` with nothing configured: an embedded Postgres, an in-process broker and a new folder."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from sluice.actors.assembly import open_ledger
from sluice.actors.client import Client
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.notify_listener import notify_through
from sluice.ops.bench.contenders.sluice_submitter import SubmitterConnections, environment
from sluice.ops.bench.environment import BenchEnvironment
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import RunTimes, whole


def embedded(_: str) -> Figures:
    """Run ``flat``, then ``chain-in-one``. ``first_s`` is the time from the request until the first job of ``flat``
    begins.
    """
    with TemporaryDirectory() as folder, _submitter(Path(folder)) as submitter:
        flat, chain = submitter.flat(told=_with_the_first), submitter.chain()
        return {**flat, **{figure: chain[figure] for figure in ("hop_ms", "hop_p95_ms")}}


def _with_the_first(given: RunTimes) -> Figures:
    return {**whole(given), "first_s": given.marks[0].at_s - given.asked_at_s}


@contextmanager
def _submitter(folder: Path) -> Iterator[SubmitterConnections]:
    """Start ``sluice up``, warm it up, and yield access to it.

    The Postgres server belongs to this process, so it outlives the workers. An empty address in the environment
    counts as none.
    """
    ground = BenchEnvironment(ledger_url="", broker_url="", results_url="", folder=folder)
    home = folder / "home"
    command = [sys.executable, "-m", "sluice.ops.cli.main", "up"]
    with (
        open_ledger(Settings(home=home)) as ledger,
        ground.crew([command], {**environment(ground), "SLUICE_HOME": str(home)}) as (crew, marks),
    ):
        submitter = SubmitterConnections(ledger, Client(ledger, partial(notify_through, ledger)), crew, marks)
        submitter.warm_up()
        yield submitter
