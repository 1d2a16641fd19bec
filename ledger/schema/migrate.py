"""Migration of a database to the schema of this code, and the rules by which code may work on a schema.

Invariants: each migration sets ``compatible_from``: code for this schema or a later one may go on working after it. The
ledger stores it beside its revision. So code works on its own schema, and on a newer schema that permits it. It never
works on an older schema, which lacks parts that it writes to. A migration *expands* (adds parts that older code does
not miss) or *contracts* (removes parts that no code from ``compatible_from`` on uses). It never does both for the same
part in one release.

Races: a migration needs locks that conflict with weaker locks of working processes, and processes that come later wait
behind the migration. So it waits for each lock at most ``LOCK_S`` seconds. Then it gives up all locks, lets the others
go on, and tries again until its patience ends. Each migration is a transaction of its own, so none holds the locks of
another. A new ledger is made in a single transaction, so no process finds half of it. Two upgrades wait for each other
by an advisory lock of a session. It is no lock of a table, which would block the migration itself. All waits are logged
with the sessions that cause them (``lock_watch``).

A crash leaves the migrations before the interrupted one, or a schema without tables. The next upgrade goes on there.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from msgspec import Struct

from sluice.jobs.errors import BadSetting, LedgerBusy, SchemaMismatch, Unreachable
from sluice.jobs.text.server_address import without_password
from sluice.ledger.database.conninfo import complete, unreachable
from sluice.ledger.schema.lock_watch import Blocker, LockWatch

if TYPE_CHECKING:
    from alembic.script import Script

_LOG = logging.getLogger("sluice.ledger")

#: The migration for which this code was written. A test compares it with Alembic's head.
REVISION = "0001"
SCRIPTS = Path(__file__).parent / "migrations"
#: Seconds that other transactions may have to wait behind a migration that waits for a lock.
LOCK_S = 1.0
#: Seconds for which an upgrade keeps trying. Its pauses are as long as its waits for a lock.
PATIENCE_S = 60.0
#: Seconds between two attempts to reach a ledger that does not answer.
PAUSE_S = 0.5
#: Key of the advisory lock. It may be any number that no other program locks in the same database.
_LOCK = 7_317_942_680_134

# Overrides the limits of the role, because a lock that blocks no other work may be waited for. The session is idle
# while the migrations run.
_AS_LONG_AS_IT_TAKES = "SET lock_timeout = 0; SET statement_timeout = 0; SET idle_session_timeout = 0"

VERSION_TABLE = "sluice_version"
_HAS_VERSION = "SELECT to_regclass(%(table)s) IS NOT NULL"
_VERSION = f"SELECT version_num, compatible_from FROM {VERSION_TABLE}"
#: The first schema of the search path is the ledger's, whether it exists yet or not.
_NAMED = "SELECT split_part(current_setting('search_path'), ',', 1)"
_IS_THERE = "SELECT to_regnamespace(%s) IS NOT NULL"
_IS_HIDDEN = "SELECT NOT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %s"
_OWNER = f"""
SELECT coalesce(relowner, nspowner)::regrole::text
FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = '{VERSION_TABLE}'
WHERE nspname = %s
"""


class Schema(Struct, frozen=True):
    """Schema of a ledger. Code that was written for ``compatible_from`` or a later schema may work on it."""

    revision: str
    compatible_from: str

    @property
    def is_ours(self) -> bool:
        return self.compatible_from <= REVISION <= self.revision

    @property
    def is_newer(self) -> bool:
        return self.revision > REVISION


def schema(url: str) -> Schema | None:
    """Return the schema of the database; None if it has no ledger yet."""
    try:
        with _connect(url) as connection:
            return _schema(connection)
    except psycopg.OperationalError as error:
        raise unreachable(url, error) from error


def revision(url: str) -> str | None:
    """Return the last migration of the database; None if it has no ledger yet."""
    found = schema(url)
    return found.revision if found else None


def missing(found: Schema | None) -> list["Script"]:
    """Return the migrations that an upgrade would run, in order."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - slower than most commands

    done = found.revision if found else ""
    scripts = [script for script in ScriptDirectory(str(SCRIPTS)).walk_revisions() if script.revision > done]
    return scripts[::-1]


def pending(found: Schema | None) -> list[str]:
    """Return the migrations that an upgrade would run, each with its description."""
    return [f"{script.revision} {script.doc}" for script in missing(found)]


def wait_for_server(url: str, within_s: float) -> None:
    """Return once the ledger's server answers. Unreachable if it does not within this time. The wait is logged."""
    deadline = time.monotonic() + within_s
    waits = False
    while (away := _away(url)) is not None:
        if time.monotonic() >= deadline:
            raise away
        if not waits:
            _LOG.warning("waiting up to %g s for the ledger: %s", within_s, away)
            waits = True
        time.sleep(PAUSE_S)
    if waits:
        _LOG.warning("the ledger answers")


def _away(url: str) -> Unreachable | None:
    """Return the error of a server that does not answer, or None."""
    try:
        _connect(url).close()
    except psycopg.OperationalError as error:
        return unreachable(url, error)
    return None


def upgrade(url: str, *, patience_s: float = PATIENCE_S) -> str:
    """Run the missing migrations. A concurrent upgrade waits, and then finds none.

    Raise LedgerBusy if a lock was not available within ``patience_s``. Finished migrations stay, and the rest is not
    begun. Raise BadSetting if the role may not migrate this ledger.
    """
    with refusals_shown(url), _connect(url) as guard, LockWatch(url) as watch:
        watch.follow(guard.info.backend_pid)
        guard.execute(_AS_LONG_AS_IT_TAKES)
        guard.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        found = _schema(guard)
        require_no_newer(url, found)
        if found is None:
            _make_schema(guard, url)
        if found is None or found.revision != REVISION:
            _run_patiently(url, patience_s, watch, anew=found is None)
    return REVISION


def require_no_newer(url: str, found: Schema | None) -> None:
    """Refuse to migrate a ledger with a schema that is newer than this code."""
    if found and found.is_newer:
        raise _mismatch(url, found)


def require(url: str, *, make: bool = False) -> None:
    """Refuse a database without a ledger, or with a schema that does not fit this code.

    With ``make``, a missing ledger is made instead.
    """
    found = schema(url)
    if found is None and make:
        upgrade(url)
        return
    if found is None:
        raise _none(url)
    if not found.is_ours:
        raise _mismatch(url, found)


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    """Connect without a transaction: if it had read a row of a table, it would block migrations of that table."""
    return psycopg.connect(complete(url), autocommit=True)


def _schema(connection: psycopg.Connection[tuple[object, ...]]) -> Schema | None:
    row = connection.execute(_HAS_VERSION, {"table": VERSION_TABLE}).fetchone()
    if row is None or not row[0]:
        return None
    found = connection.execute(_VERSION.encode()).fetchone()
    return Schema(revision=str(found[0]), compatible_from=str(found[1])) if found else None


def _none(url: str) -> SchemaMismatch:
    """Return the error for a database without a ledger, or with a ledger that this role may not use."""
    with _connect(url) as connection:
        name, role = _named(connection), connection.info.user
        is_hidden = connection.execute(_IS_HIDDEN, [name]).fetchone() == (True,)
    if is_hidden:
        what = f"The role {role} may not use the schema {name}, where the ledger is."
        advice = "Use the address of a role that may, or run the output of `sluice db roles`."
    else:
        what = f"There is no ledger in the schema {name} of this database."
        advice = "Create it: `sluice db upgrade`."
    return SchemaMismatch(what, where=without_password(url), advice=advice)


def _named(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    """Return the name of the ledger's schema."""
    [(name,)] = connection.execute(_NAMED).fetchall()
    return str(name)


def _make_schema(connection: psycopg.Connection[tuple[object, ...]], url: str) -> None:
    """Create the schema if it does not exist.

    If it exists, no creation is tried: that would need a right that the owner of the schema need not have. A schema
    that this role may not use is refused, because Postgres would pass over it and make the tables in ``pg_temp``.
    """
    name = _named(connection)
    if connection.execute(_IS_HIDDEN, [name]).fetchone() == (True,):
        raise _forbidden(url, f"permission denied for schema {name}")
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


def _run_patiently(url: str, patience_s: float, watch: LockWatch, *, anew: bool) -> None:
    """Run the migrations; repeat this until all are done or the patience ends."""
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415 - slower than most commands

    until = time.monotonic() + patience_s
    while True:
        try:
            run_alembic(url, anew=anew, watch=watch)
            return
        except DBAPIError as error:
            if not isinstance(error.orig, psycopg.Error):
                raise
            if not isinstance(error.orig, _TAKEN):
                raise error.orig from error
            if time.monotonic() >= until:
                raise _busy(url, watch.blockers) from error
        time.sleep(LOCK_S)


_TAKEN = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
_FORBIDDEN = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)


@contextmanager
def refusals_shown(url: str) -> Iterator[None]:
    """Raise the errors of the database in the form that is shown to people: Unreachable or BadSetting."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise unreachable(url, error) from error
    except _FORBIDDEN as error:
        raise _forbidden(url, str(error.diag.message_primary)) from error


def _forbidden(url: str, reason: str) -> BadSetting:
    """Return the error for a role that may not migrate, with the role that may."""
    with _connect(url) as connection:
        name, role = _named(connection), connection.info.user
        is_standby = connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
        owner = connection.execute(_OWNER.encode(), [name]).fetchone()
    if is_standby:
        what = "The server is a standby of another one, and accepts no changes."
        advice = "Use the address of its primary."
    else:
        what = f"The role {role} may not migrate the ledger in the schema {name}: {reason}."
        advice = (
            f"Upgrade as {owner[0]}, the owner of the ledger."
            if owner
            else "Upgrade as the database's owner."
        )
    return BadSetting(what, where=without_password(url), advice=advice)


def run_alembic(
    url: str, target: str = "head", *, anew: bool = False, watch: LockWatch | None = None
) -> None:
    """Run the migrations. Alembic is imported here because that takes longer than most commands take to run."""
    from alembic import command  # noqa: PLC0415 - slower than most commands
    from alembic.config import Config  # noqa: PLC0415 - slower than most commands

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["url"] = url
    config.attributes["version_table"] = VERSION_TABLE
    config.attributes["lock_s"] = LOCK_S
    config.attributes["anew"] = anew
    config.attributes["follow"] = watch.follow if watch else None
    command.upgrade(config, target)


def _mismatch(url: str, found: Schema) -> SchemaMismatch:
    return SchemaMismatch(
        f"The ledger's schema is at {found.revision}; this version of Sluice works with {REVISION}.",
        where=without_password(url),
        advice=remedy(found),
    )


def remedy(found: Schema) -> str:
    """Return the advice for code that does not fit the schema."""
    if not found.is_newer:
        return "Run `sluice db upgrade` with the newest version that shares this ledger."
    if found.is_ours:
        return "There is nothing to migrate: this version can use it until the newer version is started."
    return f"Start the newer version: no code for a schema before {found.compatible_from} may work on it."


def _busy(url: str, blockers: tuple[Blocker, ...]) -> LedgerBusy:
    """Return the error for locks that other sessions hold."""
    done = revision(url)
    held = f": {', '.join(map(str, blockers))}" if blockers else ", because other transactions hold them"
    pids = [each.pid for each in blockers if each.pid]
    ends = "; ".join(f"SELECT pg_terminate_backend({pid})" for pid in pids)
    return LedgerBusy(
        f"A migration could not get its locks{held}. The schema is at {done}.",
        where=without_password(url),
        advice="Running processes continue. `sluice db status` lists open transactions. Let them end, or end them"
        f"{f' ({ends})' if ends else ''}, and upgrade again.",
    )
