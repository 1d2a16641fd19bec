"""Migrations result in the schema that the code expects."""

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, pool

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import CLAIM, SUCCEED, By, State
from sluice.ledger.database import history
from sluice.ledger.database.history import VerbBy, number
from sluice.ledger.lifecycle.plain_successes import SETTLE_JOBS
from sluice.ledger.schema import job_rules, migrate
from sluice.ledger.schema.tables import metadata
from tests.world import World


def test_the_revision_of_the_code_is_the_last_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    assert ScriptDirectory.from_config(config).get_current_head() == migrate.REVISION


def test_the_migrations_make_the_tables_that_the_schema_describes(embedded_url: str) -> None:
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(embedded_url), poolclass=pool.NullPool
    )
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "sluice_version"})
        assert compare_metadata(context, metadata) == []


def test_the_migrations_create_the_named_constraints_of_the_schema(embedded_url: str) -> None:
    """Alembic does not compare CHECK constraints, and they enforce the states."""
    with psycopg.connect(embedded_url) as connection:
        rows = connection.execute("SELECT conname FROM pg_constraint WHERE contype = 'c'").fetchall()
    named = {constraint.name for table in metadata.tables.values() for constraint in table.constraints}
    assert {
        name
        for name in named
        if name and name.startswith(("job_", "submission_", "gate_", "transition_", "schedule_", "firing_"))
    } <= {row[0] for row in rows} | {"job_name"}


def test_the_migrations_have_the_statements_of_the_verbs(embedded_url: str) -> None:
    """If this fails, a released procedure needs a new name, and a migration that makes it."""
    with psycopg.connect(embedded_url) as connection:
        rows = connection.execute(
            "SELECT prosrc FROM pg_proc WHERE proname = %s", [SETTLE_JOBS.name]
        ).fetchall()
    assert [source.strip() for (source,) in rows] == [SETTLE_JOBS.definition().split("$$")[1].strip()]


def test_the_migrations_have_the_rules_of_jobs(embedded_url: str) -> None:
    """If this fails, released rules need a function of a new name, and a migration that replaces the CHECK."""
    with psycopg.connect(embedded_url) as connection:
        rows = connection.execute("SELECT prosrc FROM pg_proc WHERE proname = 'job_follows_rules'").fetchall()
    assert [source for (source,) in rows] == [job_rules.definition().split("$$")[1]]


_RULES = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'c' AND connamespace = current_schema()::regnamespace
UNION ALL SELECT indrelid::regclass::text, relname, pg_get_expr(indpred, indrelid)
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indpred IS NOT NULL AND relnamespace = current_schema()::regnamespace
UNION ALL SELECT indrelid::regclass::text, relname, indclass::text
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = current_schema()::regnamespace
"""


def test_the_migrations_and_the_schema_have_the_same_checks_and_index_conditions(embedded_url: str) -> None:
    """Alembic compares neither CHECK constraints, nor the conditions of partial indexes, nor operator classes."""
    with psycopg.connect(embedded_url) as migrated, psycopg.connect(embedded_url) as described:
        described.execute("CREATE SCHEMA described; SET LOCAL search_path TO described")
        engine = create_engine("postgresql+psycopg://", creator=lambda: described, poolclass=pool.StaticPool)
        with engine.connect() as connection:
            metadata.create_all(connection)
            assert set(migrated.execute(_RULES)) == set(described.execute(_RULES))
            connection.rollback()


_STORAGE = """
SELECT relname, unnest(reloptions) FROM pg_class
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""


def test_the_migrations_and_the_schema_have_the_same_storage_parameters(embedded_url: str) -> None:
    """Alembic compares none of them."""
    with psycopg.connect(embedded_url) as migrated, psycopg.connect(embedded_url) as described:
        described.execute("CREATE SCHEMA described; SET LOCAL search_path TO described")
        engine = create_engine("postgresql+psycopg://", creator=lambda: described, poolclass=pool.StaticPool)
        with engine.connect() as connection:
            metadata.create_all(connection)
            expected = set(described.execute(_STORAGE))
            connection.rollback()
        assert {table for table, _ in expected} >= {
            "job",
            "round",
            "history",
            "need",
            "propagation_outbox",
        }
        assert set(migrated.execute(_STORAGE)) == expected


def test_upgrading_twice_changes_nothing(embedded_url: str) -> None:
    assert migrate.upgrade(embedded_url) == migrate.REVISION
    assert migrate.revision(embedded_url) == migrate.REVISION


def test_a_submission_by_sql_commits_with_its_callers_transaction(world: World) -> None:
    world.apps("a")
    with psycopg.connect(world.url) as connection:
        connection.execute("""SELECT sluice.submit('{"app": "a", "key": "1", "id": "sql"}')""")
        connection.execute("""SELECT sluice.submit('{"app": "a", "key": "1", "id": "sql"}')""")
        connection.execute("""SELECT sluice.submit('{"app": "a", "kee": "1", "id": "typo"}')""")
        connection.execute("""SELECT sluice.submit('{"key": 7, "id": "odd"}')""")
    with psycopg.connect(world.url) as connection:
        connection.execute("""SELECT sluice.submit('{"app": "a", "key": "2"}')""")
        connection.rollback()
    # The function takes the time of the database, which is ahead of the time of this world.
    world.now = world.now.replace(year=2100)
    world.tick()
    assert world.states() == {"a": State.READY}
    assert world.submission("sql") is SubmissionState.ACTIVE
    assert world.submission("typo") is SubmissionState.REFUSED
    assert "kee" in world.reason("typo")
    assert world.submission("odd") is SubmissionState.REFUSED


def test_the_ledger_refuses_a_transition_that_the_state_table_does_not_contain(world: World) -> None:
    world.apps("a")
    world.submit("a")
    insert = "INSERT INTO history (job, at, kind, round, claim) VALUES (1, now(), %s, 0, 0)"
    claim, succeed = VerbBy(CLAIM, By.EXECUTOR), VerbBy(SUCCEED, By.PLANNER)
    bad = [number(State.READY, succeed), number(State.SUCCEEDED, claim), number(None, claim)]
    with psycopg.connect(world.url) as connection:
        connection.execute(insert, (number(State.READY, claim),))
        for kind in bad:
            with pytest.raises(psycopg.errors.CheckViolation), connection.transaction():
                connection.execute(insert, (kind,))
        connection.rollback()


def test_the_migrations_have_the_kinds_of_history(embedded_url: str) -> None:
    """If this fails, kinds that ledgers have stored would mean something else."""
    with psycopg.connect(embedded_url) as connection:
        rows = connection.execute("SELECT kind, nth, source, target, verb, by FROM history_kind").fetchall()
        assert set(rows) == set(history.kinds())
        sources = connection.execute(
            "SELECT prosrc FROM pg_proc WHERE proname = 'is_history_kind'"
        ).fetchall()
        assert [source for (source,) in sources] == [history.check_definition().split("$$")[1]]
        connection.execute(history.VIEW.replace("VIEW transition", "TEMPORARY VIEW described").encode())
        views = [
            connection.execute("SELECT pg_get_viewdef(%s::regclass)", [view]).fetchall()
            for view in ("transition", "described")
        ]
        assert views[0] == views[1]
        connection.rollback()
