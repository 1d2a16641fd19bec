"""Bringing a database to the schema of this code, once, whoever starts first."""

from pathlib import Path

import psycopg

from jobs.address import without_password
from jobs.errors import BadSetting, SchemaMismatch, Unreachable

#: The migration this code was written for. A test holds it to Alembic's head.
REVISION = "0017"
#: Any number will do that no other program locks in the same database.
_LOCK = 7_317_942_680_134

_VERSION_TABLE = "sluice_version"
_HAS_VERSION = "SELECT to_regclass(%(table)s) IS NOT NULL"


def revision(url: str) -> str | None:
    """The migration the database is at; None for one that has no ledger yet."""
    try:
        with _connect(url) as connection:
            return _revision(connection)
    except psycopg.OperationalError as error:
        raise _unreachable(url, error) from error


def upgrade(url: str) -> str:
    """Run what migrations are missing. Others who upgrade at the same time wait and find nothing to do."""
    try:
        with _connect(url) as guard:
            guard.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if _revision(guard) != REVISION:
                _run_alembic(url)
    except psycopg.OperationalError as error:
        raise _unreachable(url, error) from error
    return REVISION


def require(url: str) -> None:
    """Create the ledger in an empty database; refuse one whose schema is not this code's."""
    found = revision(url)
    if found is None:
        upgrade(url)
    elif found != REVISION:
        raise SchemaMismatch(
            f"The ledger's schema is at {found}; this version of Sluice works with {REVISION}.",
            where=without_password(url),
            advice="Run `sluice db upgrade` with the newest version that shares this ledger.",
        )


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    try:
        return psycopg.connect(url, connect_timeout=10)
    except psycopg.ProgrammingError as error:
        raise BadSetting(
            f"The ledger's address cannot be read: {' '.join(str(error).split())}",
            advice="Write it like postgresql://user:password@host/sluice",
        ) from error


def _revision(connection: psycopg.Connection[tuple[object, ...]]) -> str | None:
    row = connection.execute(_HAS_VERSION, {"table": _VERSION_TABLE}).fetchone()
    if row is None or not row[0]:
        return None
    found = connection.execute(f"SELECT version_num FROM {_VERSION_TABLE}".encode()).fetchone()
    return str(found[0]) if found else None


def _run_alembic(url: str) -> None:
    """Alembic is imported here because it takes longer to import than most commands take to run."""
    from alembic import command  # noqa: PLC0415 - slower than most commands
    from alembic.config import Config  # noqa: PLC0415 - slower than most commands

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["url"] = url
    config.attributes["version_table"] = _VERSION_TABLE
    command.upgrade(config, "head")


def _unreachable(url: str, error: Exception) -> Unreachable:
    return Unreachable(
        "The ledger does not answer: " + " ".join(str(error).split()),
        where=without_password(url),
        advice="Start the database, or point SLUICE_LEDGER_URL at one that runs.",
    )
