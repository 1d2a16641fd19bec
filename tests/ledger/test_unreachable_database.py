"""A database that is away, and comes back while a transaction or an upgrade waits."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sluice.jobs.errors import Unreachable
from sluice.ledger.database import connection
from sluice.ledger.database.connection import Ledger
from sluice.ledger.schema import migrate
from sluice.ops.cli.main import main
from tests.chaos.database import Database
from tests.ops.typist import Typist, ended


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
            while "is unreachable; work that needs it waits" not in caplog.text:
                time.sleep(0.05)
            database.bring_back()
            assert waits.result() == [1]
    finally:
        database.close()


@pytest.mark.timeout(120)
def test_an_upgrade_waits_for_a_database_that_comes_late(tmp_path: Path) -> None:
    desk = Typist(tmp_path, SLUICE_STARTUP_TIMEOUT="60s")
    database = Database(tmp_path / "home")
    try:
        database.kill()
        with desk.starts("--ledger", database.url, "db", "upgrade") as upgrade:
            assert upgrade.stderr is not None
            assert (
                "waiting up to 60 s for the ledger: The ledger does not answer" in upgrade.stderr.readline()
            )
            database.bring_back()
            said = ended(upgrade)
        assert (said.code, said.err.count("the ledger answers")) == (0, 1)
    finally:
        database.close()


def test_an_upgrade_gives_up_after_the_startup_timeout(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_STARTUP_TIMEOUT", "100ms")
    away = "postgresql://127.0.0.1:1/sluice"
    assert main(["--ledger", away, "db", "upgrade"]) == Unreachable.exit_code
    told = capfd.readouterr().err
    assert "waiting up to 0.1 s for the ledger" in told
    assert "sluice: The ledger does not answer" in told
    with pytest.raises(Unreachable):
        migrate.wait_for_server(away, 0)
