"""``sluice db status`` and ``sluice db upgrade --dry-run`` before and after an upgrade."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sluice.ledger.schema import migrate
from sluice.ops.cli.main import main
from tests.ledger.generations import database


@pytest.fixture
def fresh(embedded_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a database without a ledger. Commands use it."""
    with database(embedded_url) as url:
        monkeypatch.setenv("SLUICE_LEDGER_URL", url)
        yield url


def _asked(capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(capfd.readouterr().out)
    return said


def test_status_lists_the_migrations_that_an_upgrade_would_run(
    fresh: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["db", "status", "--json"]) == 1
    said = _asked(capfd)
    assert (said["schema"], said["revision"], said["code"]) == ("sluice", None, migrate.REVISION)
    assert said["pending"] == ["0001 The ledger as it was first released."]
    assert main(["db", "status"]) == 1
    assert "There is no ledger in the schema sluice yet." in capfd.readouterr().out
    migrate.upgrade(fresh)
    assert main(["db", "status", "--json"]) == 0
    said = _asked(capfd)
    assert (said["revision"], said["pending"], said["blocked_by"]) == (migrate.REVISION, [], [])


def test_a_dry_run_lists_the_migrations_and_changes_nothing(
    fresh: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["db", "upgrade", "--dry-run"]) == 0
    shown = capfd.readouterr().out
    assert "The ledger as it was first released." in shown
    assert "CREATE TABLE" in shown
    assert main(["db", "upgrade", "--sql"]) == 0
    assert "CREATE TABLE submission (" in capfd.readouterr().out
    assert main(["db", "upgrade", "--dry-run", "--json"]) == 0
    (first,) = _asked(capfd)["pending"]
    assert (first["revision"], first["compatible_from"]) == ("0001", "0001")
    assert migrate.schema(fresh) is None, "nothing was changed"
    migrate.upgrade(fresh)
    assert main(["db", "upgrade", "--dry-run"]) == 0
    assert "nothing is missing" in capfd.readouterr().out


def test_a_dry_run_creates_no_embedded_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SLUICE_LEDGER_URL", raising=False)
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    assert main(["db", "upgrade", "--dry-run"]) == 3
    assert "There is no ledger here yet." in capfd.readouterr().err
    assert not (tmp_path / "home").exists()


def test_status_lists_the_transactions_that_would_block_a_migration(
    fresh: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.upgrade(fresh)
    monkeypatch.setattr(migrate, "LOCK_S", 0.0)
    with psycopg.connect(fresh, application_name="a report") as reads, psycopg.connect(fresh) as idles:
        reads.execute("SELECT count(*) FROM job")
        idles.execute("SELECT 1")
        assert main(["db", "status", "--json"]) == 0
        [blocker] = _asked(capfd)["blocked_by"]
        assert (blocker["pid"], blocker["name"]) == (reads.info.backend_pid, "a report")
        main(["db", "status"])
        assert "A migration would wait for:" in capfd.readouterr().out


def test_a_connection_has_the_name_of_its_command(fresh: str) -> None:
    migrate.upgrade(fresh)
    with psycopg.connect(fresh) as connection:
        connection.execute("CREATE TABLE seen AS SELECT ''::text AS name WITH NO DATA")
        connection.execute(
            "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN INSERT INTO seen VALUES (current_setting('application_name')); RETURN NEW; END $$"
        )
        connection.execute(
            "CREATE TRIGGER note AFTER INSERT ON app_pause FOR EACH ROW EXECUTE FUNCTION note()"
        )
    main(["apps", "pause", "a"])
    with psycopg.connect(fresh) as connection:
        assert connection.execute("SELECT name FROM seen").fetchall() == [("sluice apps pause",)]
