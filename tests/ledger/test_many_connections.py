"""Five hundred workers on one ledger, each with its own connection that stays open throughout."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from sluice.actors.executor import transactions
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Execute, Executed, JobRound, Message
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.embedded import settings
from sluice.ledger.recovery.invariants import breaches
from tests.homes import started_ledger
from tests.world import World

#: One job for each connection.
CONNECTIONS = JOBS = 500
_DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
_TAKEN = f"SELECT count(*) FROM transition WHERE target = '{State.RUNNING}' GROUP BY job"


@pytest.fixture
def roomy_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a Postgres server that accepts this many connections."""
    monkeypatch.setitem(settings.ALWAYS, "max_connections", str(CONNECTIONS + 50))
    with started_ledger(tmp_path / "home") as url:
        yield url


class Worker:
    """Worker that claims as many jobs as it can with its notifications."""

    def __init__(self, world: World, stack: ExitStack, hints: Sequence[JobRound]) -> None:
        self._world = world
        self._id: UUID = world.hire()
        self._ledger = Ledger(world.url, connections=1, clock=lambda: world.now)
        stack.callback(self._ledger.close)
        self._hints = hints

    def connect(self) -> None:
        self._ledger.transact(lambda tx: tx.rows("SELECT 1"))

    def work(self, everybody: threading.Barrier) -> int:
        """Work through the notifications after all workers have connected.

        Return the number of jobs that it ended.
        """
        self.connect()
        everybody.wait()
        ended = 0
        for turn in self._hints:
            message = Execute(app="a", jobs=(turn,))
            claimed, _ = transactions.claim(self._ledger, self._world.catalogue, message, self._id)
            for job in claimed:
                news, refused = transactions.record(self._ledger, {job.right: Outcome(ending=Ending.DONE)})
                assert not refused
                self._judge(list(news))
            ended += len(claimed)
        return ended

    def _judge(self, news: list[Message]) -> None:
        for message in news:
            if isinstance(message, Executed):
                handle(self._ledger, self._world.catalogue, message)


@pytest.mark.timeout(600)
def test_five_hundred_connections_take_each_job_once(roomy_url: str) -> None:
    with World(roomy_url) as world, ExitStack() as stack:
        world.apps("a")
        world.submit("a", key=None, keys=[str(n) for n in range(JOBS)])
        turns = [turn for message in world.offered for turn in message.jobs]
        assert len(turns) == JOBS
        # Each job is named in the notifications of two workers. The second one to arrive claims another job instead.
        known = list(pairwise([*turns, turns[0]]))
        crew = [Worker(world, stack, hints) for hints in known]
        everybody = threading.Barrier(CONNECTIONS)
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            ended = sum(pool.map(lambda worker: worker.work(everybody), crew))
        assert ended == JOBS
        assert set(world.states().values()) == {State.SUCCEEDED}
        assert set(world.ledger.transact(lambda tx: tx.column(_TAKEN))) == {1}
        assert world.ledger.transact(lambda tx: tx.column(_DEADLOCKS)) == [0]
        assert world.ledger.transact(breaches) == []
