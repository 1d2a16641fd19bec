"""An urgent job overtakes hundreds of jobs that are before it in the queue, on any broker."""

from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import Fleet, fleet, wait_until

QUEUED = 300


def _count(ledger: Ledger, state: State) -> int:
    return int(
        ledger.transact(
            lambda tx: tx.column("SELECT count(*) FROM job WHERE state = %(state)s", state=state)
        )[0]
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("paced", [False, True], ids=["one-by-one", "in-parcels"])
def test_an_urgent_job_is_the_next_that_runs(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path, paced: bool
) -> None:
    """Use a worker with one thread.

    It takes one message at a time and claims only then, so no other job comes first.
    """
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    with fleet(1, folder, ledger=live_ledger_url, broker=broker_url, threads=1) as workers:
        before = _run_one(client, ledger, workers) if paced else 0
        client.submit(Submission(app="patient", key="0", push="wanted"))
        wait_until(lambda: len(workers.lines()) == before + 1, within_s=60, explain=workers.log)
        client.submit_many(
            [Submission(app="first", key=str(key), push="wanted") for key in range(1, QUEUED + 1)]
        )
        wait_until(lambda: _count(ledger, State.READY) == QUEUED, within_s=60, explain=workers.log)
        client.submit(Submission(app="first", key="777", push="wanted", policy={"priority": 1}))
        wait_until(lambda: _count(ledger, State.READY) == QUEUED + 1, within_s=60, explain=workers.log)
        (folder / "effects.0").touch()
        done = before + QUEUED + 2
        wait_until(lambda: _count(ledger, State.SUCCEEDED) == done, within_s=120, explain=workers.log)
    broker.close()
    keys = [key for app, key, *_ in workers.lines() if app == "first"][before:]
    assert keys[0] == "777"
    assert len(keys) == len({*keys}) == QUEUED + 1
    assert ledger.transact(breaches) == []


def _run_one(client: Client, ledger: Ledger, workers: Fleet) -> int:
    """Run one job, so that the ledger learns how short these jobs are. Return the number of jobs that ran."""
    client.submit(Submission(app="first", key="0", push="wanted"))
    wait_until(lambda: _count(ledger, State.SUCCEEDED) == 1, within_s=60, explain=workers.log)
    return 1
