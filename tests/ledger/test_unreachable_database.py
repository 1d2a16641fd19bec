"""A database that is away until the pool gives up connecting, and comes back while a transaction waits."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sluice.ledger.database import connection
from sluice.ledger.database.connection import Ledger
from tests.chaos.database import Database


@pytest.mark.timeout(120)
def test_a_waiting_transaction_runs_once_the_database_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "PATIENCE_S", 60.0)
    database = Database(tmp_path)
    try:
        with closing(Ledger(database.url)) as ledger, ThreadPoolExecutor(1) as somebody:
            database.kill()
            waits = somebody.submit(ledger.transact, lambda tx: tx.column("SELECT 1"))
            while "reconnection attempt" not in caplog.text:
                time.sleep(0.05)
            database.bring_back()
            assert waits.result() == [1]
    finally:
        database.close()
