"""Chunks on real workers: a worker is killed in the middle of a chunk, and a chunk fails."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import fleet, wait_until

NIGHTLY = str(Path(__file__).parent / "nightly")
WHOLE = {
    "extract/1-6@1": State.SUCCEEDED,
    "clean/1-2@1": State.SUCCEEDED,
    "clean/3-4@1": State.SUCCEEDED,
    "clean/5-6@1": State.SUCCEEDED,
    "report/1-3@1": State.SUCCEEDED,
    "report/4-6@1": State.SUCCEEDED,
}


def _states(ledger: Ledger) -> dict[str, State]:
    rows = ledger.transact(lambda tx: tx.rows("SELECT app || '/' || key, state FROM job"))
    return {name: State(state) for name, state in rows}


@pytest.mark.timeout(120)
def test_a_chunk_of_a_killed_worker_runs_again_and_its_dependents_wait(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    with fleet(2, folder, ledger=live_ledger_url, broker=broker_url, apps=NIGHTLY) as workers:
        id_ = client.submit(Submission(app="report", work_ids="1-6", kwargs={"held": [3]}))
        wait_until(
            lambda: (
                {s for name, s in _states(ledger).items() if name != "clean/3-4@1"}
                == {State.SUCCEEDED, State.WAITING}
                and any(line[:2] == ["clean", "3"] for line in workers.lines())
            ),
            within_s=30,
            explain=workers.log,
        )
        (victim,) = [int(line[-1]) for line in workers.lines() if line[:2] == ["clean", "3"]]
        os.kill(victim, signal.SIGKILL)
        wait_until(
            lambda: sum(line[:2] == ["clean", "3"] for line in workers.lines()) == 2,
            within_s=40,
            explain=workers.log,
        )
        assert _states(ledger)["report/1-3@1"] is State.WAITING
        (folder / "effects.3").touch()
        wait_until(lambda: client.status(id_).state is SubmissionState.SUCCEEDED, within_s=30)
        runs = Counter(tuple(line[:3]) for line in workers.lines())
    broker.close()
    assert _states(ledger) == WHOLE
    assert ledger.transact(breaches) == []
    assert runs.pop(("clean", "3", "4")) == 2
    assert set(runs.values()) == {1}
    rows = ledger.transact(lambda tx: tx.rows("SELECT key, losses FROM job WHERE losses > 0"))
    assert rows == [("3-4@1", 1)]
    fresh = dict(ledger.transact(lambda tx: tx.rows("SELECT app, count(*) FROM freshness GROUP BY app")))
    assert fresh == {"extract": 6, "clean": 6, "report": 6}


@pytest.mark.timeout(120)
def test_a_failed_chunk_fails_only_its_dependents_and_at_once(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    with fleet(1, folder, ledger=live_ledger_url, broker=broker_url, apps=NIGHTLY) as workers:
        request = Submission(app="report", work_ids="1-6", kwargs={"held": [5], "poison": 2})
        id_ = client.submit(request)
        wait_until(
            lambda: _states(ledger).get("report/1-3@1") is State.UPSTREAM_FAILED,
            within_s=30,
            explain=workers.log,
        )
        # Chunks that do not depend on the failed one are not affected: the rest still waits.
        states = _states(ledger)
        assert states["clean/1-2@1"] is State.FAILED
        assert states["report/4-6@1"] is State.WAITING
        assert client.status(id_).state is SubmissionState.ACTIVE
        (folder / "effects.5").touch()
        wait_until(lambda: client.status(id_).state is SubmissionState.FAILED, within_s=30)
    broker.close()
    assert _states(ledger) == WHOLE | {
        "clean/1-2@1": State.FAILED,
        "report/1-3@1": State.UPSTREAM_FAILED,
    }
    assert ledger.transact(breaches) == []
    fresh = ledger.transact(
        lambda tx: tx.column("SELECT work_id FROM freshness WHERE app = 'clean' ORDER BY 1")
    )
    assert fresh == ["3", "4", "5", "6"]
