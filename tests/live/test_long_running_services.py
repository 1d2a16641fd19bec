"""Long-running services: their process outlives workers, and there is only one at a time."""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.job import idempotency_token
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import Fleet, fleet, wait_until
from tests.live.marked import processes

TOKEN = idempotency_token("stream", "", "1")
STREAMS = Path(__file__).parent / "streams.py"

pytestmark = pytest.mark.timeout(240)


def alive() -> list[int]:
    return processes(TOKEN)


class Streaming:
    """One stream, the workers that poll it, and its row in the ledger."""

    def __init__(self, ledger: Ledger, workers: Fleet, client: Client, folder: Path) -> None:
        self.ledger = ledger
        self.workers = workers
        self.client = client
        self.folder = folder

    def say(self, word: str) -> None:
        (self.folder / word).touch()

    def unsay(self, word: str) -> None:
        (self.folder / word).unlink()

    def starts(self) -> list[str]:
        """Return the claims under which ``run`` was called."""
        return [claim for app, _, claim, _ in self.workers.lines() if app == "stream"]

    def field(self, column: str, app: str = "stream") -> Any:
        rows = self.ledger.transact(
            lambda tx: tx.column(f"SELECT {column} FROM job WHERE app = %(app)s", app=app)
        )
        return rows[0] if rows else None

    def waits_until(self, **fields: Any) -> None:
        def is_so() -> bool:
            return all(self.field(name) == value for name, value in fields.items())

        wait_until(is_so, within_s=60, explain=self._explain)

    def waits_for(self, condition: Any) -> None:
        wait_until(condition, within_s=60, explain=self._explain)

    def waits_until_left(self, *, claim: int) -> int:
        """Wait until no worker holds the job any more. Return its process."""
        self.waits_until(state=State.RUNNING, claim=claim, worker=None)
        return int(self.field("handle")["pid"])

    def _explain(self) -> str:
        return self.workers.log()


@contextmanager
def streaming(ledger: Ledger, url: str, broker_url: str, folder: Path) -> Iterator[Streaming]:
    broker = connect(broker_url)
    try:
        with fleet(1, folder, ledger=url, broker=broker_url, apps=str(STREAMS)) as workers:
            yield Streaming(ledger, workers, Client(ledger, broker.publish), folder)
        assert ledger.transact(breaches) == []
    finally:
        for pid in alive():
            os.kill(pid, signal.SIGKILL)
        broker.close()


def test_a_service_outlives_its_worker_restarts_after_its_death_and_stops_when_cancelled(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    with streaming(ledger, live_ledger_url, broker_url, folder) as far:
        submission = far.client.submit(Submission(app="reader", key="1"))
        process = far.waits_until_left(claim=1)
        far.waits_for(lambda: far.field("state", "reader") == State.SUCCEEDED)
        assert far.field("state") == State.RUNNING, "its reader ran while it runs"

        far.workers.kill_one(random.Random(1))
        before = far.field("next_poll_at")
        far.waits_for(lambda: far.field("next_poll_at") > before and far.field("dispatch_attempts") == 0)
        assert (alive(), far.starts(), far.field("claim")) == ([process], ["1"], 1)

        os.kill(process, signal.SIGKILL)
        other = far.waits_until_left(claim=2)
        assert other != process
        assert (alive(), far.starts()) == ([other], ["1", "2"])

        far.client.cancel(submission)
        far.waits_until(state=State.CANCELLED, handle=None, next_poll_at=None)
        assert alive() == []


@pytest.mark.parametrize("held", ["before", "after"])
def test_a_worker_killed_while_it_starts_a_service_leaves_one_process(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path, held: str
) -> None:
    with streaming(ledger, live_ledger_url, broker_url, folder) as far:
        far.say(held)
        far.client.submit(Submission(app="stream", key="1"))
        far.waits_for(lambda: far.starts() and (alive() if held == "after" else True))
        started = alive()
        assert len(started) == (1 if held == "after" else 0)
        far.workers.kill_one(random.Random(1))
        far.unsay(held)
        process = far.waits_until_left(claim=2)
        assert alive() == [process]
        assert started in ([], [process])
        assert far.field("losses") == 1


def test_a_dead_service_is_started_again_but_a_silent_one_is_left_alone(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    with streaming(ledger, live_ledger_url, broker_url, folder) as far:
        far.client.submit(Submission(app="stream", key="1"))
        process = far.waits_until_left(claim=1)
        far.say("mute")
        far.waits_for(lambda: far.field("failed_polls") > 0)
        assert "no answer" in far.field("external_status")
        far.unsay("mute")
        far.waits_until(failed_polls=0)
        assert (far.starts(), alive()) == (["1"], [process])
    with streaming(ledger, live_ledger_url, broker_url, folder) as far:
        other = far.waits_until_left(claim=2)
        assert (far.starts(), alive()) == (["1", "2"], [other])
