"""A large submission that is being planned when its planners are killed. After the third death it is refused."""

import json
import logging
import random
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from sluice.ledger.reads import submission_progress
from tests.live.fleet import Fleet, fleet, wait_until

_LOG = logging.getLogger("sluice.tests")

DEATHS = 3
APPS = {"large": {"chunk_size": 1, "bash_cmd": "true"}, "small": {"job_id": "{x}", "bash_cmd": "true"}}
#: Planning this submission takes longer than a planner lives here: 5 seconds on a quiet machine.
LARGE = Submission(app="large", id="large", kwargs={"work_ids": "1-100000"})
#: Seconds to wait. After a kill, the database may first finish a long statement, which holds the submission's row.
WITHIN_S = 120
#: Only attempts at the large submission. Attempts at others are not counted as its deaths.
_ATTEMPTS = """
SELECT count(*) FROM plan_attempt JOIN submission ON number = plan_attempt.submission WHERE id = 'large'
"""


@pytest.mark.timeout(600)
def test_a_submission_is_refused_after_three_planners_were_killed(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path
) -> None:
    apps = folder / "apps.json"
    apps.write_text(json.dumps(APPS))
    broker = connect(redis)
    client = Client(ledger, broker.publish)
    with fleet(1, folder, ledger=live_ledger_url, broker=redis, apps=str(apps)) as planners:
        client.submit_many([LARGE])
        for deaths in range(1, DEATHS + 1):
            wait_until(partial(_has_attempts, ledger, deaths), within_s=WITHIN_S, explain=planners.log)
            planners.kill_one(random.Random(1))
            client.submit_many([Submission(app="small", key=str(deaths), id=f"small{deaths}")])
        expected = {"large": SubmissionState.REFUSED} | {
            f"small{deaths}": SubmissionState.SUCCEEDED for deaths in range(1, DEATHS + 1)
        }
        wait_until(lambda: _states(ledger, expected) == expected, within_s=WITHIN_S, explain=planners.log)
        wait_until(partial(_has_attempts, ledger, 0), within_s=WITHIN_S)
        _check_the_log(planners)
    broker.close()


def _has_attempts(ledger: Ledger, many: int) -> bool:
    return ledger.transact(lambda tx: tx.column(_ATTEMPTS)) == [many]


def _states(ledger: Ledger, ids: Iterable[str]) -> dict[str, SubmissionState]:
    found = {id: ledger.transact(partial(submission_progress.status, id=id)) for id in ids}
    return {id: status.state for id, status in found.items() if status}


def _check_the_log(planners: Fleet) -> None:
    refusals = [line for line in planners.log().splitlines() if "is refused" in line]
    assert len(refusals) == 1
    assert f"Planning it ended {DEATHS} planners" in refusals[0]
    _LOG.info("%s", refusals[0])
