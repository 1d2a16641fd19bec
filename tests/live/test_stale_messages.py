"""A queue that contains many messages when the first worker starts. All but the last are stale."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.broker.messages import Execute, JobRound
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from tests.live.fleet import fleet, wait_until

#: ``SLUICE_TEST_PILE=100000`` takes minutes.
MESSAGES, _AT_ONCE = int(os.environ.get("SLUICE_TEST_PILE", "10000")), 1000
#: No job has this id or a higher one.
_NOBODY = 10**12


@pytest.mark.timeout(1200)
def test_stale_notifications_are_consumed_and_the_job_behind_them_runs(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    for start in range(0, MESSAGES, _AT_ONCE):
        broker.publish([*_stale(start, start + _AT_ONCE)])
    assert broker.depth("first") == MESSAGES
    client = Client(ledger, broker.publish)
    wanted = client.submit(Submission(app="first", key="1", push="wanted"))
    with fleet(1, folder, ledger=live_ledger_url, broker=broker_url, SLUICE_TICK="1s") as workers:
        wait_until(workers.lines, within_s=60, explain=workers.log)
        grown = [workers.resident_bytes()]
        wait_until(lambda: broker.depth("first") == 0, within_s=1000, explain=workers.log)
        grown.append(workers.resident_bytes())
        wait_until(lambda: _is_done(client, wanted), within_s=60, explain=workers.log)
    assert len(workers.lines()) == 1
    assert grown[1] - grown[0] < MESSAGES * 200, f"it keeps something of each: {grown}"
    broker.close()


def _stale(first: int, end: int) -> Iterator[Execute]:
    for number in range(first, end):
        yield Execute(app="first", jobs=(JobRound(_NOBODY + number, 0),))


def _is_done(client: Client, submission: str) -> bool:
    status = client.status(submission)
    return status is not None and status.state is SubmissionState.SUCCEEDED
