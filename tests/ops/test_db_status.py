"""``sluice db status`` before and after an upgrade, and with a transaction that would block one."""

import json
from collections.abc import Iterator

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


def _asked(capfd: pytest.CaptureFixture[str]) -> dict[str, object]:
    said: dict[str, object] = json.loads(capfd.readouterr().out)
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
