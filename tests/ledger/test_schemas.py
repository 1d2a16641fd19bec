"""Ledger in a database that it shares with a user's own tables, and the errors if this is impossible."""

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, pool

from sluice.jobs.errors import BadSetting, SchemaMismatch, Unreachable
from sluice.jobs.text.server_address import in_schema
from sluice.ledger.database.connection import Ledger
from sluice.ledger.schema import migrate
from sluice.ledger.schema.preview import preview
from tests.ledger.generations import database

THEIRS = ("event", "job", "worker", "sluice_version")


@pytest.fixture
def shared(embedded_url: str) -> Iterator[str]:
    """Yield the plain address of a database in which a user has tables with the same names."""
    with database(urlsplit(embedded_url)._replace(query=_host(embedded_url)).geturl()) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            for table in THEIRS:
                connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)".encode())
        yield url


def _host(url: str) -> str:
    return "&".join(part for part in urlsplit(url).query.split("&") if not part.startswith("options="))


def _tables(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT schemaname, count(*) FROM pg_tables WHERE schemaname IN ('public', 'sluice', 'other') GROUP BY 1"
        )
        return dict(found.fetchall())


def test_the_ledger_is_created_beside_user_tables_of_the_same_names(shared: str) -> None:
    migrate.upgrade(shared)
    migrate.require(shared)
    with psycopg.connect(shared) as connection:
        for table in THEIRS:
            assert connection.execute(f"SELECT count(*) FROM public.{table}".encode()).fetchone() == (0,)
    found = _tables(shared)
    assert (found["public"], found["sluice"] > 30) == (len(THEIRS), True)


def test_two_ledgers_share_a_database(shared: str) -> None:
    for url in (shared, in_schema(shared, "other")):
        migrate.upgrade(url)
        with closing(Ledger(url, connections=1)) as ledger:
            ledger.transact(lambda tx: tx.write("UPDATE installation SET since = now()"))
    found = _tables(shared)
    assert found["other"] == found["sluice"]


def test_the_alembic_of_another_role_does_not_see_the_ledger(shared: str, stranger: str) -> None:
    migrate.upgrade(shared)
    theirs = MetaData()
    for table in THEIRS:
        Table(table, theirs, Column("id", Integer, primary_key=True))
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(stranger), poolclass=pool.NullPool
    )
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_schemas": False})
        assert compare_metadata(context, theirs) == []


@pytest.mark.parametrize("function", ["sluice.submit", "sluice.sluice_submit", "sluice_submit"])
def test_submit_works_with_any_search_path(shared: str, function: str) -> None:
    migrate.upgrade(shared)
    with psycopg.connect(shared, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.submission (id TEXT)")
        connection.execute("SET search_path = elsewhere, public")
        connection.execute(f"""SELECT {function}('{{"app": "a", "key": "1", "id": "x"}}')""".encode())
        assert connection.execute("SELECT id FROM sluice.submission").fetchall() == [("x",)]


def test_each_function_searches_only_the_schema_of_the_ledger(shared: str) -> None:
    migrate.upgrade(shared)
    with psycopg.connect(shared) as connection:
        found = connection.execute(
            "SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'sluice'::regnamespace"
        ).fetchall()
    assert len(found) >= 5
    options = {name: tuple(settings or ()) for name, settings in found}
    # They name only operators of Postgres.
    assert (options.pop("job_follows_rules"), options.pop("is_history_kind")) == ((), ())
    # It rolls back, which a procedure with settings may not.
    assert options.pop("settle_jobs") == ()
    assert set(options.values()) == {("search_path=sluice, pg_temp",)}


def test_only_an_upgrade_creates_the_ledger(shared: str) -> None:
    with pytest.raises(
        SchemaMismatch, match="There is no ledger in the schema sluice of this database"
    ) as told:
        migrate.require(shared)
    assert "sluice db upgrade" in told.value.advice
    assert _tables(shared) == {"public": len(THEIRS)}


def _as(url: str, **words: str) -> str:
    """Return the address with these parameters replaced."""
    return "postgresql:///?" + "&".join(
        f"{name}={value}" for name, value in (conninfo_to_dict(url) | words).items()
    )


@pytest.fixture
def stranger(shared: str) -> Iterator[str]:
    """Yield the address of a role that may log in and has no other right."""
    with psycopg.connect(shared, autocommit=True) as admin:
        admin.execute("CREATE ROLE stranger LOGIN PASSWORD 'pw'")
        try:
            yield _as(shared, user="stranger", password="pw")
        finally:
            admin.execute("DROP OWNED BY stranger; DROP ROLE stranger")


def test_a_role_that_may_not_create_the_schema_gets_advice(shared: str, stranger: str) -> None:
    with pytest.raises(
        BadSetting, match="The role stranger may not create the schema sluice in the database"
    ) as told:
        migrate.upgrade(stranger)
    assert "CREATE SCHEMA sluice AUTHORIZATION stranger" in told.value.advice
    with psycopg.connect(shared, autocommit=True) as admin:
        admin.execute(b"CREATE SCHEMA sluice AUTHORIZATION stranger")
    assert migrate.upgrade(stranger) == migrate.REVISION


@pytest.mark.parametrize(
    ("rights", "options", "said"),
    [
        ((), "", "permission denied for schema sluice"),
        (("GRANT USAGE ON SCHEMA sluice TO stranger",), "", "permission denied for schema sluice"),
        (
            ("GRANT USAGE, CREATE ON SCHEMA sluice TO stranger",),
            "-c default_transaction_read_only=on",
            "cannot execute CREATE TABLE in a read-only transaction",
        ),
    ],
)
def test_a_role_that_may_not_create_tables_in_the_schema_learns_which_role_may(
    shared: str, stranger: str, rights: tuple[str, ...], options: str, said: str
) -> None:
    with psycopg.connect(shared, autocommit=True) as admin:
        for statement in ("CREATE SCHEMA sluice", *rights):
            admin.execute(statement.encode())
        owner = admin.execute(
            "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'sluice'"
        ).fetchone()
    with pytest.raises(BadSetting, match=f"The role stranger may not migrate the ledger .*: {said}") as told:
        migrate.upgrade(_as(stranger, options=quote(options)))
    assert owner is not None
    assert f"Upgrade as {owner[0]}, the owner" in told.value.advice


def test_a_role_that_does_not_own_the_tables_learns_which_role_does(shared: str, stranger: str) -> None:
    migrate.upgrade(shared)
    with psycopg.connect(shared, autocommit=True) as admin:
        admin.execute(
            "GRANT USAGE ON SCHEMA sluice TO stranger; GRANT SELECT ON sluice.sluice_version TO stranger"
        )
        owner = admin.execute("SELECT current_user::regrole::text").fetchone()
    assert migrate.upgrade(stranger) == migrate.REVISION, "nothing is missing, so it needs no more"
    with psycopg.connect(shared, autocommit=True) as admin:
        admin.execute("REVOKE SELECT ON sluice.sluice_version FROM stranger")
    with pytest.raises(BadSetting, match="permission denied for table sluice_version") as told:
        migrate.upgrade(stranger)
    assert owner is not None
    assert told.value.advice == f"Upgrade as {owner[0]}, the owner of the ledger."
    with pytest.raises(BadSetting, match="permission denied for table sluice_version"):
        preview(stranger)


def test_an_upgrade_continues_without_a_connection_to_watch_locks(
    shared: str, stranger: str, caplog: pytest.LogCaptureFixture
) -> None:
    migrate.upgrade(shared)
    with psycopg.connect(shared, autocommit=True) as admin:
        admin.execute(
            "GRANT USAGE ON SCHEMA sluice TO stranger; GRANT SELECT ON sluice.sluice_version TO stranger;"
            "ALTER ROLE stranger CONNECTION LIMIT 1"
        )
    assert migrate.upgrade(stranger) == migrate.REVISION
    assert "the sessions that block a migration cannot be listed" in caplog.text


def test_a_role_that_may_not_use_the_schema_gets_an_error(shared: str, stranger: str) -> None:
    migrate.upgrade(shared)
    with pytest.raises(SchemaMismatch, match="The role stranger may not use the schema sluice"):
        migrate.require(stranger)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"password": "wrong"}, "The ledger's database refuses the password of the role stranger."),
        ({"dbname": "nowhere"}, "The ledger's server has no database nowhere."),
        ({"user": "nobody_there"}, "The ledger's database refuses the password of the role nobody_there."),
        ({"host": "/nowhere"}, "The ledger does not answer: "),
    ],
)
def test_the_error_for_a_wrong_address_names_the_wrong_part(
    stranger: str, words: dict[str, str], said: str
) -> None:
    with pytest.raises(Unreachable) as told:
        migrate.require(_as(stranger, **words))
    assert told.value.what.startswith(said)
    assert told.value.advice
