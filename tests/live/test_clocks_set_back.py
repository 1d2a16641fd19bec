"""A worker with a clock that is set back by an hour, as when a machine wakes up or a time server was wrong."""

from pathlib import Path

from sluice.actors.client import Client
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from tests import clocks
from tests.clocks import Clock
from tests.live.fleet import fleet, wait_until

#: Submissions, one after the other. A process reads its changed clock once per second, and these take longer.
SUBMISSIONS = 4


def test_the_groomer_still_finds_submissions_after_the_clock_is_set_back(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    """Submit without a message, so that only the groomer finds the job. The scheduler's leader sends its ticks."""
    clocks.require()
    clock = Clock(folder / "clock")
    client = Client(ledger, lambda messages: None)
    with fleet(1, folder, ledger=live_ledger_url, broker=broker_url, **clock.environment()) as workers:
        for number in range(SUBMISSIONS):
            wanted = client.submit(Submission(app="first", key=str(number), push="wanted"))
            wait_until(lambda wanted=wanted: _is_done(client, wanted), within_s=60, explain=workers.log)
            clock.put(-3600)


def _is_done(client: Client, submission: str) -> bool:
    status = client.status(submission)
    return status is not None and status.state is SubmissionState.SUCCEEDED
