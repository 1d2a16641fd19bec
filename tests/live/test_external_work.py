"""External work that job managers start. It outlives the workers that poll it, and is started once."""

import random
from pathlib import Path
from typing import Any

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import Fleet, fleet, wait_until


class Far:
    """The one job with external work, as the ledger and the files show it."""

    def __init__(self, ledger: Ledger, workers: Fleet, folder: Path) -> None:
        self._ledger = ledger
        self._workers = workers
        self._effects = folder / "effects"

    def submit(self, client: Client) -> str:
        return client.submit(Submission(app="far", key="1"))

    def waits_until(self, state: State, *, claim: int) -> None:
        wait_until(lambda: self._row()[:2] == (state, claim), within_s=60, explain=self._workers.log)

    def waits_until_started(self) -> Any:
        """Wait until the ledger has the handle of the work. Return it."""
        wait_until(lambda: self._row()[2] is not None, within_s=60, explain=self._workers.log)
        return self._row()[2]

    def end(self) -> None:
        (self._effects.parent / "effects.1").touch()

    @property
    def was_ended_from_here(self) -> bool:
        return (self._effects.parent / "effects.1.ended").exists()

    @property
    def handle(self) -> Any:
        return self._row()[2]

    def _row(self) -> tuple[Any, ...]:
        rows = self._ledger.transact(
            lambda tx: tx.rows("SELECT state, claim, handle FROM job WHERE app = 'far'")
        )
        return rows[0] if rows else ("", 0, None)


@pytest.mark.timeout(180)
def test_external_work_of_a_killed_worker_is_taken_over_and_not_started_again(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path
) -> None:
    broker = connect(rabbitmq)
    with fleet(1, folder, ledger=live_ledger_url, broker=rabbitmq) as workers:
        far = Far(ledger, workers, folder)
        far.submit(Client(ledger, broker.publish))
        handle = far.waits_until_started()
        workers.kill_one(random.Random(1))
        far.waits_until(State.RUNNING, claim=2)
        assert far.handle == handle
        far.end()
        far.waits_until(State.SUCCEEDED, claim=2)
        assert len(workers.lines()) == 1, "it was started once"
    broker.close()
    assert far.handle is None
    assert not far.was_ended_from_here
    assert ledger.transact(breaches) == []


@pytest.mark.timeout(180)
def test_a_worker_that_gets_sigterm_leaves_its_external_work_running(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path
) -> None:
    broker = connect(rabbitmq)
    with fleet(1, folder, ledger=live_ledger_url, broker=rabbitmq, SLUICE_SHUTDOWN_GRACE="6s") as workers:
        far = Far(ledger, workers, folder)
        far.submit(Client(ledger, broker.publish))
        handle = far.waits_until_started()
        assert workers.terminate() == [0]
        far.waits_until(State.READY, claim=1)
        assert far.handle == handle
    far.end()
    with fleet(1, folder, ledger=live_ledger_url, broker=rabbitmq) as workers:
        Far(ledger, workers, folder).waits_until(State.SUCCEEDED, claim=2)
        assert len(workers.lines()) == 1, "it was started once"
    broker.close()
    assert not far.was_ended_from_here


@pytest.mark.timeout(180)
def test_cancelling_the_submission_ends_the_external_work_of_its_job(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path
) -> None:
    broker = connect(rabbitmq)
    client = Client(ledger, broker.publish)
    with fleet(1, folder, ledger=live_ledger_url, broker=rabbitmq) as workers:
        far = Far(ledger, workers, folder)
        submission = far.submit(client)
        far.waits_until_started()
        client.cancel(submission)
        wait_until(lambda: far.was_ended_from_here, within_s=30, explain=workers.log)
        wait_until(lambda: far.handle is None, within_s=30, explain=workers.log)
        far.waits_until(State.CANCELLED, claim=1)
    broker.close()
