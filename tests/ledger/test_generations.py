"""Code and schema of different versions: compatible pairs, and upgrades while other processes work."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from sluice.jobs.errors import LedgerBusy, SchemaMismatch
from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.schema import migrate
from tests.jobs.runners.runner_bench import eventually
from tests.ledger.generations import (
    broken_promises,
    database,
    ledger_at,
    migrations,
    shape,
    shape_at,
)

_SET = "UPDATE sluice_version SET version_num = %s, compatible_from = %s"
_ASKED = """SELECT sluice.submit('{"app": "a", "key": "1"}')"""
_WAITS = """
SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
  AND query_start < clock_timestamp() - interval '100 ms'
"""
_IN_SCHEMA = f"-c search_path={SCHEMA}"
_HELD = "LOCK TABLE submission IN ROW EXCLUSIVE MODE"


def _made_to_be(url: str, revision: str, compatible_from: str | None) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(_SET, (revision, compatible_from))


def test_the_oldest_compatible_revision_never_decreases() -> None:
    said = migrations()
    assert said
    oldest = [each.compatible_from for each in said]
    assert oldest == sorted(oldest), "code that was refused once is never let in again"
    assert all(each.compatible_from <= each.revision for each in said)
    assert {each.compatible_from for each in said} <= {each.revision for each in said}


def test_no_migration_breaks_code_that_it_declares_compatible(embedded_url: str) -> None:
    pairs = [(each.compatible_from, each.revision) for each in migrations()]
    shapes = {
        revision: shape_at(embedded_url, revision) for revision in {each for pair in pairs for each in pair}
    }
    for oldest, revision in pairs:
        assert broken_promises(shapes[oldest], shapes[revision]) == [], revision


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        ("DROP TABLE app_pause", "app_pause.app is gone"),
        ("ALTER TABLE worker RENAME COLUMN host TO machine", "worker.host is gone"),
        ("ALTER TABLE worker ALTER COLUMN pid TYPE TEXT", "worker.pid is another"),
        ("ALTER TABLE worker ALTER COLUMN code SET NOT NULL", "worker.code is another"),
        ("ALTER TABLE worker ADD COLUMN rack TEXT NOT NULL", "worker.rack is asked for"),
        ("ALTER TABLE worker ADD CHECK (threads > 1)", "worker worker_threads_check forbids more"),
        ("CREATE UNIQUE INDEX one_host ON worker (host)", "worker one_host forbids more"),
    ],
)
def test_an_incompatible_change_is_noticed(embedded_url: str, taken: str, said: str) -> None:
    with psycopg.connect(embedded_url) as connection:
        before = shape(connection)
        connection.execute(
            "DELETE FROM worker"
        )  # Rows of other tests could prevent the change of their table.
        connection.execute(taken.encode())
        assert said in broken_promises(before, shape(connection))
        connection.rollback()


def test_code_works_with_a_newer_compatible_schema(embedded_url: str) -> None:
    with ledger_at(embedded_url, migrate.REVISION) as url:
        _made_to_be(url, "9999", migrate.REVISION)
        migrate.require(url)


def test_code_is_refused_by_a_newer_incompatible_schema(embedded_url: str) -> None:
    with ledger_at(embedded_url, migrate.REVISION) as url:
        _made_to_be(url, "9999", "9998")
        with pytest.raises(
            SchemaMismatch, match=f"at 9999; this version of Sluice works with {migrate.REVISION}"
        ) as told:
            migrate.require(url)
    assert told.value.advice == "Start the newer version: no code for a schema before 9998 may work on it."


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add two migrations. The second needs a table lock that conflicts with ``_HELD``, a lock of other processes."""
    scripts = tmp_path / "migrations"
    shutil.copytree(migrate.SCRIPTS, scripts)
    last, first_more, second_more = (f"{int(migrate.REVISION) + more:04}" for more in (0, 1, 2))
    for revision, before, text in (
        (first_more, last, "CREATE TABLE first_more (id BIGINT)"),
        (
            second_more,
            first_more,
            "CREATE TABLE second_more (id BIGINT); ALTER TABLE submission ADD COLUMN more TEXT",
        ),
    ):
        (scripts / "versions" / f"{revision}_more.py").write_text(
            _MORE.format(revision=revision, before=before, text=text)
        )
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    monkeypatch.setattr(migrate, "REVISION", second_more)


_MORE = """
from alembic import op
revision, down_revision, compatible_from = "{revision}", "{before}", "0001"
def upgrade():
    op.get_bind().exec_driver_sql("{text}")
"""
BEFORE_LAST = f"{int(migrate.REVISION) + 1:04}"


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("revision", [migrate.REVISION, BEFORE_LAST])
def test_code_is_refused_by_an_older_schema_with_the_advice_to_upgrade(
    embedded_url: str, revision: str
) -> None:
    with ledger_at(embedded_url, revision) as url:
        with pytest.raises(SchemaMismatch, match=f"at {revision}") as told:
            migrate.require(url)
        assert "sluice db upgrade" in told.value.advice
        migrate.upgrade(url)
        migrate.require(url)


def test_an_upgrade_by_older_code_changes_nothing_and_reports_the_reason(embedded_url: str) -> None:
    with ledger_at(embedded_url, migrate.REVISION) as url:
        _made_to_be(url, "9999", migrate.REVISION)
        with pytest.raises(SchemaMismatch, match="at 9999") as told:
            migrate.upgrade(url)
        assert "nothing to migrate" in told.value.advice
        assert migrate.revision(url) == "9999"


def test_the_ledger_records_its_revision_and_the_oldest_compatible_one(embedded_url: str) -> None:
    with ledger_at(embedded_url, migrate.REVISION) as url:
        found = migrate.schema(url)
        assert found == migrate.Schema(migrations()[-1].revision, migrations()[-1].compatible_from)


@pytest.mark.usefixtures("later")
def test_a_migration_without_its_lock_gives_up_and_blocks_no_other_process(
    embedded_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        ledger_at(embedded_url, BEFORE_LAST) as url,
        psycopg.connect(url, application_name="a report") as holds,
    ):
        holds.execute(_HELD)
        with pytest.raises(LedgerBusy, match=f"The schema is at {BEFORE_LAST}") as told:
            migrate.upgrade(url, patience_s=0)
        held = f"pid {holds.info.backend_pid} (user {holds.info.user}, a report, idle in transaction, transaction open"
        assert held in told.value.what
        assert f"SELECT pg_terminate_backend({holds.info.backend_pid})" in told.value.advice
        assert "sluice db status" in told.value.advice
        assert f"waiting for a lock of {held}" in caplog.text
        with psycopg.connect(url) as works:
            works.execute("SET lock_timeout = '5s'")
            works.execute(_ASKED)
            assert works.execute("SELECT to_regclass('second_more')").fetchone() == (None,), "it is half done"
        holds.rollback()
        assert migrate.upgrade(url, patience_s=0) == migrate.REVISION


@pytest.mark.usefixtures("later")
def test_migrations_before_a_missing_lock_stay_applied(embedded_url: str) -> None:
    with ledger_at(embedded_url, "0001") as url, psycopg.connect(url) as holds:
        holds.execute(_HELD)
        with pytest.raises(LedgerBusy, match=f"The schema is at {BEFORE_LAST}"):
            migrate.upgrade(url, patience_s=0)
        holds.rollback()
        migrate.upgrade(url)
        migrate.require(url)


def test_a_second_upgrade_waits_despite_short_timeouts_of_its_role(
    embedded_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        database(embedded_url) as url,
        ThreadPoolExecutor(1) as others,
        psycopg.connect(url, autocommit=True, application_name="sluice db upgrade") as first,
    ):
        first.execute("SELECT pg_advisory_lock(%s)", (migrate._LOCK,))
        second = others.submit(
            migrate.upgrade,
            make_conninfo(url, options=f"{_IN_SCHEMA} -c lock_timeout=1ms -c statement_timeout=20ms"),
        )
        eventually(lambda: second.done() or first.execute(_WAITS).fetchone())
        assert not second.done(), second.exception()
        eventually(lambda: "waiting for a lock of" in caplog.text)
        assert f"pid {first.info.backend_pid} (user {first.info.user}, sluice db upgrade, " in caplog.text
        first.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        migrate.run_alembic(url, anew=True)
        first.execute("SELECT pg_advisory_unlock(%s)", (migrate._LOCK,))
        assert second.result(20) == migrate.REVISION
