"""A backfill of a thousand partitions. It continues after every process was killed in the middle."""

import logging
from collections import Counter
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import fleet, wait_until

_LOG = logging.getLogger("sluice.tests")

BACKFILL = Path(__file__).parent / "backfill.py"
DAYS = 500
#: 2023-01-01 and the 499 days after it. The first of them needs the two days before, too.
ASKED = Submission(app="cleanse", start="2023-01-01", end="2024-05-14", id="backfill")
PARTITIONS = DAYS + DAYS + 2
KILLED_AT = (150, 450, 800)

_DONE = "SELECT table_name, partition, done_at FROM partition WHERE done_at IS NOT NULL"


@pytest.mark.timeout(400)
def test_a_backfill_continues_after_every_process_was_killed(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    with fleet(2, folder, ledger=live_ledger_url, broker=broker_url, apps=str(BACKFILL)) as workers:
        client.submit(ASKED)
        for done in KILLED_AT:
            wait_until(
                lambda done=done: len(_done(ledger)) >= done,  # type: ignore[misc] # mypy takes no default here
                within_s=100,
                explain=workers.log,
            )
            workers.kill_all()
            kept = _done(ledger)
            assert len(kept) < PARTITIONS
            workers.start_all()
            _LOG.info("all killed with %d of %d partitions made", len(kept), PARTITIONS)
        wait_until(lambda: _is_over(client), within_s=100, explain=workers.log)
        assert kept.items() <= _done(ledger).items()
        lines = workers.lines()
    broker.close()
    assert ledger.transact(breaches) == []
    assert len(_done(ledger)) == PARTITIONS
    _check(lines)


def _check(lines: list[list[str]]) -> None:
    """Check that each partition is made once.

    A partition is begun again if its process was killed while it was made.
    """
    over: set[tuple[str, str]] = set()
    begun: Counter[tuple[str, str]] = Counter()
    for word, app, partition, *_ in lines:
        name = app, partition
        assert name not in over, f"{partition} of {app} was made again"
        if word == "done":
            over.add(name)
        else:
            begun[name] += 1
    assert len(begun) == PARTITIONS
    again = [name for name, times in begun.items() if times > 1]
    _LOG.info("%d partitions made, %d of them begun again after a kill", len(begun), len(again))


def _done(ledger: Ledger) -> dict[tuple[str, int], object]:
    return {(place, partition): at for place, partition, at in ledger.transact(lambda tx: tx.rows(_DONE))}


def _is_over(client: Client) -> bool:
    status = client.status("backfill")
    return status is not None and status.state is SubmissionState.SUCCEEDED
