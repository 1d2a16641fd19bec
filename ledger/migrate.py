"""Bringing a database to the schema of this code, once, whoever starts first; and who may work on which schema.

What holds. Each migration says as ``compatible_from`` which is the oldest schema whose code may go on working after
it, and the ledger keeps that beside its revision. So code works on its own schema, on a newer one that says it may, and
on no older one: that would lack what it writes to. A migration *expands* (adds what the code before it does not miss),
or *contracts* (takes away what no code from ``compatible_from`` on uses); never both for one thing in one release.

Who races whom. A migration needs locks that whoever works holds a lower one of, and whoever comes after the migration
waits behind it. So it waits for each lock for ``LOCK_S`` at the most, gives all up, lets the others go on, and tries
again until its patience ends. Each migration is a transaction of its own: none holds the locks of another. To make a
ledger where there is none is one transaction, so nobody finds half of one. Two who upgrade wait for each other by an
advisory lock of a session; that takes no lock of a table, which would be in its own way.

What a crash leaves: the migrations before the one that was under way, or a schema without tables. The next upgrade goes
on there.
"""

import time
from pathlib import Path

import psycopg
from msgspec import Struct

from sluice.jobs.address import without_password
from sluice.jobs.errors import BadSetting, LedgerBusy, SchemaMismatch
from sluice.ledger.dialling import dialled, unreachable

#: The migration this code was written for. A test holds it to Alembic's head.
REVISION = "0001"
SCRIPTS = Path(__file__).parent / "migrations"
#: So long others may have to wait behind a migration that waits for a lock.
LOCK_S = 1.0
#: So long an upgrade tries, pausing as long as it waited before.
PATIENCE_S = 60.0
#: Any number will do that no other program locks in the same database.
_LOCK = 7_317_942_680_134

# Whatever the role is held to: a lock that keeps nobody from working may be waited for.
_AS_LONG_AS_IT_TAKES = "SET lock_timeout = 0; SET statement_timeout = 0"

VERSION_TABLE = "sluice_version"
_HAS_VERSION = "SELECT to_regclass(%(table)s) IS NOT NULL"
_VERSION = f"SELECT version_num, compatible_from FROM {VERSION_TABLE}"
#: The first of the search path is the ledger's, whether it is there yet or not.
_NAMED = "SELECT split_part(current_setting('search_path'), ',', 1)"
_IS_THERE = "SELECT to_regnamespace(%s) IS NOT NULL"
_IS_HIDDEN = "SELECT NOT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %s"


class Schema(Struct, frozen=True):
    """What a ledger is at. Code that was written for ``compatible_from`` or anything later may work on it."""

    revision: str
    compatible_from: str

    @property
    def is_ours(self) -> bool:
        return self.compatible_from <= REVISION <= self.revision

    @property
    def is_newer(self) -> bool:
        return self.revision > REVISION


def schema(url: str) -> Schema | None:
    """What the database is at; None for one that has no ledger yet."""
    try:
        with _connect(url) as connection:
            return _schema(connection)
    except psycopg.OperationalError as error:
        raise unreachable(url, error) from error


def revision(url: str) -> str | None:
    """The migration the database is at; None for one that has no ledger yet."""
    found = schema(url)
    return found.revision if found else None


def pending(found: Schema | None) -> list[str]:
    """The migrations that an upgrade would run, each with what it is about."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - slower than most commands

    done = found.revision if found else ""
    scripts = [script for script in ScriptDirectory(str(SCRIPTS)).walk_revisions() if script.revision > done]
    return [f"{script.revision} {script.doc}" for script in reversed(scripts)]


def upgrade(url: str, *, patience_s: float = PATIENCE_S) -> str:
    """Run what migrations are missing. Others who upgrade at the same time wait and find nothing to do.

    LedgerBusy where a lock was not to be had for so long: what was migrated by then stays, and the rest is not begun.
    """
    try:
        with _connect(url) as guard:
            guard.execute(_AS_LONG_AS_IT_TAKES)
            guard.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
            found = _schema(guard)
            if found and found.is_newer:
                raise _mismatch(url, found)
            if found is None:
                _make_schema(guard, url)
            if found is None or found.revision != REVISION:
                _run_patiently(url, patience_s, anew=found is None)
    except psycopg.OperationalError as error:
        raise unreachable(url, error) from error
    return REVISION


def require(url: str, *, make: bool = False) -> None:
    """Refuse a database without a ledger, unless one is to be made there; and a ledger on whose schema this code cannot
    work."""
    found = schema(url)
    if found is None and make:
        upgrade(url)
        return
    if found is None:
        raise _none(url)
    if not found.is_ours:
        raise _mismatch(url, found)


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    """In no transaction: one that has read a table's row would keep migrations from it."""
    return psycopg.connect(dialled(url), autocommit=True)


def _schema(connection: psycopg.Connection[tuple[object, ...]]) -> Schema | None:
    row = connection.execute(_HAS_VERSION, {"table": VERSION_TABLE}).fetchone()
    if row is None or not row[0]:
        return None
    found = connection.execute(_VERSION.encode()).fetchone()
    return Schema(revision=str(found[0]), compatible_from=str(found[1])) if found else None


def _none(url: str) -> SchemaMismatch:
    """There is no ledger, or this role is not let near it."""
    with _connect(url) as connection:
        name, role = _named(connection), connection.info.user
        is_hidden = connection.execute(_IS_HIDDEN, [name]).fetchone() == (True,)
    if is_hidden:
        what = f"The role {role} may not use the schema {name}, where the ledger is."
        advice = "Use the address of a role that may, or run what `sluice db roles` prints."
    else:
        what = f"There is no ledger in the schema {name} of this database."
        advice = "Make it: `sluice db upgrade`."
    return SchemaMismatch(what, where=without_password(url), advice=advice)


def _named(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    """The ledger's schema."""
    [(name,)] = connection.execute(_NAMED).fetchall()
    return str(name)


def _make_schema(connection: psycopg.Connection[tuple[object, ...]], url: str) -> None:
    """Not asked for where it is there: that takes a right that the owner of the schema alone has no use for."""
    name = _named(connection)
    if connection.execute(_IS_THERE, [name]).fetchone() == (True,):
        return
    try:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    except psycopg.errors.InsufficientPrivilege as error:
        role, database = connection.info.user, connection.info.dbname
        raise BadSetting(
            f"The role {role} may not create the schema {name} in the database {database}.",
            where=without_password(url),
            advice=f"As its owner: CREATE SCHEMA {name} AUTHORIZATION {role}; then upgrade again.",
        ) from error


def _run_patiently(url: str, patience_s: float, *, anew: bool) -> None:
    """Again and again, until all is migrated or the patience ends."""
    from sqlalchemy.exc import OperationalError  # noqa: PLC0415 - slower than most commands

    until = time.monotonic() + patience_s
    while True:
        try:
            run_alembic(url, anew=anew)
            return
        except OperationalError as error:
            if not isinstance(error.orig, _TAKEN):
                raise
            if time.monotonic() >= until:
                raise _busy(url) from error
        time.sleep(LOCK_S)


_TAKEN = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)


def run_alembic(url: str, target: str = "head", *, anew: bool = False) -> None:
    """Alembic is imported here because it takes longer to import than most commands take to run."""
    from alembic import command  # noqa: PLC0415 - slower than most commands
    from alembic.config import Config  # noqa: PLC0415 - slower than most commands

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["url"] = url
    config.attributes["version_table"] = VERSION_TABLE
    config.attributes["lock_s"] = LOCK_S
    config.attributes["anew"] = anew
    command.upgrade(config, target)


def _mismatch(url: str, found: Schema) -> SchemaMismatch:
    return SchemaMismatch(
        f"The ledger's schema is at {found.revision}; this version of Sluice works with {REVISION}.",
        where=without_password(url),
        advice=remedy(found),
    )


def remedy(found: Schema) -> str:
    """What to do where this code does not fit the schema."""
    if not found.is_newer:
        return "Run `sluice db upgrade` with the newest version that shares this ledger."
    if found.is_ours:
        return "There is nothing to migrate: this version may go on with it, until the newer one is started."
    return f"Start the newer version: no code for a schema before {found.compatible_from} may work on it."


def _busy(url: str) -> LedgerBusy:
    done = revision(url)
    return LedgerBusy(
        f"A migration could not get its locks, because somebody holds them for long. The schema is at {done}.",
        where=without_password(url),
        advice="Whoever works goes on. `sluice doctor` names transactions that stay open; end them, and upgrade again.",
    )
