"""``sluice db repair`` while workers run: it does not disturb them."""

from pathlib import Path

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.repairs import repair
from tests.live.fleet import fleet, wait_until

KEYS = [str(number) for number in range(60)]
_SHUT = (
    "UPDATE gate SET unmet = unmet + 1 WHERE child IN (SELECT id FROM job WHERE state = 'waiting' LIMIT 20)"
)
_DONE = f"SELECT count(*) FROM job WHERE app = 'second' AND state = '{State.SUCCEEDED}'"


def test_a_ledger_is_damaged_and_repaired_while_workers_run(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    client.submit_many([Submission(app="second", key=key) for key in KEYS])
    mended = 0
    with fleet(2, folder, ledger=live_ledger_url, broker=broker_url, SLUICE_TICK="200ms") as workers:

        def is_over() -> bool:
            nonlocal mended
            damaged = ledger.transact(lambda tx: tx.write(_SHUT))
            repaired, left = repair(ledger)
            assert left == []
            mended += bool(damaged and repaired)
            return bool(ledger.transact(lambda tx: tx.column(_DONE))[0] == len(KEYS))

        wait_until(is_over, within_s=120, explain=workers.log)
    assert mended > 0, "no job was waiting when the rows were damaged"
    assert "Traceback" not in workers.log()
    assert sorted(key for app, key, *_ in workers.lines() if app == "second") == sorted(KEYS)
    broker.close()
