"""Preview of an upgrade: the migrations with their SQL, of which none is run."""

from pathlib import Path

import psycopg
import pytest

from sluice.jobs.errors import SchemaMismatch
from sluice.ledger.schema import migrate
from sluice.ledger.schema.preview import preview
from tests.ledger.generations import database, ledger_at, shape

_TABLES = "SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'sluice'"


def test_the_sql_of_a_new_ledger_makes_the_same_schema_as_the_upgrade(embedded_url: str) -> None:
    with database(embedded_url) as url, psycopg.connect(url, autocommit=True) as connection:
        (first,) = preview(url)
        assert (first.revision, first.compatible_from) == ("0001", "0001")
        assert connection.execute(_TABLES).fetchone() == (0,)
        assert "CREATE TABLE" in first.summary
        # The table of versions is Alembic's.
        connection.execute(
            "CREATE SCHEMA sluice; CREATE TABLE sluice_version (version_num varchar(32) NOT NULL)"
        )
        connection.execute(first.sql.encode())
        by_hand = shape(connection)
        connection.execute("DROP SCHEMA sluice CASCADE; DROP FUNCTION IF EXISTS public.sluice_submit")
        migrate.upgrade(url)
        upgraded = shape(connection)
    assert by_hand.columns == upgraded.columns
    assert by_hand.functions == upgraded.functions
    assert {name for name in upgraded.rules if "sluice_version" not in name} == by_hand.rules.keys()


def test_a_ledger_of_this_schema_has_no_pending_migration(embedded_url: str) -> None:
    with ledger_at(embedded_url, migrate.REVISION) as url:
        assert preview(url) == []


def test_a_newer_ledger_is_refused(embedded_url: str) -> None:
    with ledger_at(embedded_url, migrate.REVISION) as url:
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE sluice_version SET version_num = '9999'")
        with pytest.raises(SchemaMismatch, match="at 9999"):
            preview(url)


_NEXT = '''
"""Add a table."""
from alembic import op
revision, down_revision, compatible_from = "0002", "0001", "0001"
def upgrade():
    op.create_index("more", "job", ["app"])
    op.execute("INSERT INTO app_pause (app) VALUES ('100%')")
    count = op.get_bind().exec_driver_sql("SELECT count(*) FROM job").scalar_one()
    op.get_bind().exec_driver_sql(f"CREATE TABLE seen_{count} (word TEXT DEFAULT '%%')")
'''


def test_operations_of_alembic_are_shown_and_only_reads_are_executed(
    embedded_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger_at(embedded_url, "0001") as url:
        scripts = tmp_path / "migrations"
        (scripts / "versions").mkdir(parents=True)
        for each in ("env.py", "versions/0001_ledger.py"):
            (scripts / each).write_text((migrate.SCRIPTS / each).read_text())
        (scripts / "versions/0002_more.py").write_text(_NEXT)
        monkeypatch.setattr(migrate, "SCRIPTS", scripts)
        monkeypatch.setattr(migrate, "REVISION", "0002")
        (found,) = preview(url)
        assert (found.revision, found.title) == ("0002", "Add a table.")
        assert found.sql.split("\n\n")[:3] == [
            "CREATE INDEX more ON job (app);",
            "INSERT INTO app_pause (app) VALUES ('100%');",
            "CREATE TABLE seen_0 (word TEXT DEFAULT '%')",
        ]
        assert found.summary == "1 CREATE INDEX, 1 INSERT, 1 CREATE TABLE"
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT to_regclass('seen_0'), to_regclass('more')").fetchone() == (
                None,
                None,
            )
            assert connection.execute("SELECT count(*) FROM app_pause").fetchone() == (0,)
