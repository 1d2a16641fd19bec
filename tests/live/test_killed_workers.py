"""Two thousand jobs on three workers that are killed at random. Each job succeeds exactly once."""

import logging
import random
import time
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import Fleet, fleet, wait_until

_LOG = logging.getLogger("sluice.tests")

KEYS = 667
JOBS = 3 * KEYS
KILL_EVERY_S = 1.5
KILLS_MIN = 6

_EARLY = """
SELECT count(*) FROM need
JOIN round child ON child.job = need.child
WHERE child.running_at < (SELECT max(at) FROM transition WHERE job = need.parent AND target = 'succeeded')
"""
_SUCCESSES = "SELECT job, count(*) FROM transition WHERE target = 'succeeded' GROUP BY job"


@pytest.mark.timeout(600)
def test_every_job_succeeds_exactly_once_while_workers_are_killed(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    rng = random.Random(1)
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    with fleet(3, folder, ledger=live_ledger_url, broker=broker_url) as workers:
        ids = client.submit_many(
            [Submission(app="third", key=str(key), push="wanted", id=f"s{key}") for key in range(KEYS)]
        )
        killer = _Killer(workers, rng)
        wait_until(
            lambda: _succeeded(ledger) == JOBS and workers.kills >= KILLS_MIN,
            within_s=400,
            meanwhile=killer,
            explain=lambda: f"{_states(ledger)} after {workers.kills} kills\n{workers.log()[-3000:]}",
        )
        wait_until(lambda: all(_is_over(client, id_) for id_ in ids[:: KEYS // 20]), within_s=20)
    broker.close()
    _check(ledger, workers)


class _Killer:
    """Killer of workers, at random moments that do not depend on the work."""

    def __init__(self, workers: Fleet, rng: random.Random) -> None:
        self._workers = workers
        self._rng = rng
        self._next = time.monotonic() + KILL_EVERY_S

    def __call__(self) -> None:
        if time.monotonic() > self._next:
            self._workers.kill_one(self._rng)
            self._next = time.monotonic() + self._rng.expovariate(1 / KILL_EVERY_S)


def _check(ledger: Ledger, workers: Fleet) -> None:
    assert ledger.transact(breaches) == []
    successes = dict(ledger.transact(lambda tx: tx.rows(_SUCCESSES)))
    assert len(successes) == JOBS
    assert set(successes.values()) == {1}
    assert ledger.transact(lambda tx: tx.column(_EARLY)) == [0]
    lines = workers.lines()
    assert len({(app, key) for app, key, *_ in lines}) == JOBS
    # Each claim of a job was run by one process, once.
    assert len({tuple(line[:3]) for line in lines}) == len(lines)
    _LOG.info("%d jobs, %d workers killed, %d runs, each job succeeded once", JOBS, workers.kills, len(lines))


def _succeeded(ledger: Ledger) -> int:
    return _states(ledger).get(State.SUCCEEDED, 0)


def _states(ledger: Ledger) -> dict[str, int]:
    return dict(ledger.transact(lambda tx: tx.rows("SELECT state, count(*) FROM job GROUP BY state")))


def _is_over(client: Client, id_: str) -> bool:
    status = client.status(id_)
    return status is not None and status.state is SubmissionState.SUCCEEDED
