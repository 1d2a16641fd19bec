"""Roles in the ledger's database and their privileges, as an SQL script that may be run again and again.

Privileges after the script has run:

- ``owner`` owns the tables and runs migrations. No other role creates, changes or drops tables.
- ``control`` is for processes that plan, groom and fire schedules, or serve every queue. It reads and writes rows. It
  adds and removes history rows, because the groomer performs retention, but does not change them. It may read the last
  id issued for the history, which the leader needs for counting.
- ``worker`` is for processes that run jobs, submit, or act through the console. It has the rights of ``control`` with
  two exceptions. It adds to the history and never removes from it, so no process that runs users' code can rewrite the
  past. It reads definitions in the ledger and does not write them, so it cannot choose the definitions that other
  processes plan with.
- ``reader`` is for the read-only console and for people. It reads every table, in read-only transactions.
- ``submitter`` may call ``submit`` and ``succeed`` and nothing else. These functions run with their owner's rights, and
  find their tables and functions in the ledger's schema alone, independent of the caller's ``search_path``. ``resume``
  runs in the same way, but a submitter may not call it, because that would reach the sagas of other users.

People logged in with these roles can use unqualified table names: the roles search the ledger's schema first.

Retention uses the privileges of a role and not a function with its owner's rights. Any role that could call such a
function could remove history with it, so the groomer's right would exist in two places. Nothing is granted by default.
A table that a migration adds is inaccessible until the script is run again. Such an error shows immediately, while an
excessive privilege would go unnoticed.
"""

import re

from msgspec import Struct

from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.schema.migrate import REVISION, VERSION_TABLE
from sluice.ledger.schema.tables import metadata
from sluice.ledger.stats.state_counts import SEQUENCE

#: Tables to which rows are only added. Roles that run jobs must be able to change all other tables about the past.
HISTORY = ("history", "audit")
#: Tables of definitions by version, and of the branches that point at them. The planner and `sluice apps sync` write
#: them.
DEFINITIONS = ("app_version", "branch", "branch_sync")
VIEWS = ("transition",)
_READ_ONLY = (*VIEWS, "history_kind")
#: Functions that run with their owner's rights, and the roles that may call them.
_FUNCTIONS = {
    "submit(jsonb)": ("control", "worker", "submitter"),
    "resume(jsonb)": ("control", "worker"),
    # A caller needs the ID of the worker that runs the job, which only the job's own code gets.
    "succeed(bigint, bigint, uuid, text, text, timestamptz, jsonb)": ("control", "worker", "submitter"),
}
#: Functions and procedures that run with the caller's rights.
_PLAIN_FUNCTIONS = {
    "sluice_submit(jsonb)": ("control", "worker", "submitter"),
    "submission_content(jsonb)": ("control", "worker"),
    "request_fault(jsonb)": (),
    "job_follows_rules": ("control", "worker"),
    "is_history_kind": ("control", "worker"),
    "settle_jobs": ("control", "worker"),
}
_PREFIX = re.compile(r"[a-z_][a-z0-9_]{0,40}")
#: Limits per role on statements and lock waits. An idle limit is added below; our own processes set that themselves. A
#: migration may take long, but must not block the transactions that queue behind its lock request.
_LIMITS: dict[str, dict[str, str]] = {
    "owner": {"statement_timeout": "0", "lock_timeout": "10s"},
    "control": {"statement_timeout": "10min", "lock_timeout": "1min"},
    "worker": {"statement_timeout": "10min", "lock_timeout": "1min"},
    "reader": {"statement_timeout": "30s", "lock_timeout": "5s", "default_transaction_read_only": "on"},
    "submitter": {"statement_timeout": "10s", "lock_timeout": "5s"},
}
_IDLE = {"idle_in_transaction_session_timeout": "1min"}
#: Idle sessions end after this time. Not for roles with connection pools, because our processes expect them to last.
_IDLE_SESSIONS = {"submitter": "10min"}
#: Most simultaneous sessions of the roles that are handed out to other parties.
_CONNECTIONS = {"reader": 50, "submitter": 50}
#: Functions that every role may call by default. Our advisory locks stop all planning while a session holds them, and
#: large objects fill the disk.
_EVERYBODYS = "proname LIKE 'pg\\_advisory%' OR proname LIKE 'pg\\_try\\_advisory%' OR proname LIKE 'lo\\_%'"
_LOCKS = "proname LIKE 'pg\\_advisory%' OR proname = 'pg_try_advisory_xact_lock'"


class Right(Struct, frozen=True):
    """Privileges of a role on the rows of a table, or on a sequence. Inserting rows needs none on the table's
    sequence."""

    role: str
    verbs: str


def names(prefix: str) -> dict[str, str]:
    """Return the database name of each role. ValueError if Postgres would require quotes for the prefix."""
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"{prefix!r} is not made of up to 41 small letters, digits and _")
    return {role: f"{prefix}_{role}" for role in _LIMITS}


def script(prefix: str = "sluice", schema: str = SCHEMA) -> str:
    """Return the script that a superuser runs in the ledger's database after each migration."""
    called = names(prefix)
    parts = [
        f"-- Roles of a ledger at {REVISION}. Run it again after every `sluice db upgrade`.",
        "BEGIN;",
        *(_made(name) for name in called.values()),
        *(_limited(called[role], limits | _IDLE) for role, limits in _LIMITS.items()),
        *(_limited(called[role], {"idle_session_timeout": span}) for role, span in _IDLE_SESSIONS.items()),
        *(f"ALTER ROLE {name} SET search_path = {schema}, public;" for name in called.values()),
        *(f"ALTER ROLE {called[role]} CONNECTION LIMIT {count};" for role, count in _CONNECTIONS.items()),
        _for_each_function(_EVERYBODYS, "REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC"),
        _for_each_function(
            _LOCKS,
            f"GRANT EXECUTE ON FUNCTION %s TO {called['owner']}, {called['control']}, {called['worker']}",
        ),
        "DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;",
        f"REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;",
        f"ALTER SCHEMA {schema} OWNER TO {called['owner']};",
        f"GRANT USAGE ON SCHEMA {schema} TO {', '.join(called.values())};",
        *(_table(f"{schema}.{table}", rights(table), called) for table in tables()),
        _granted(f"SEQUENCE {schema}.{SEQUENCE}", rights(SEQUENCE), called),
        *(_callable(f"{schema}.{name}", roles, called) for name, roles in _PLAIN_FUNCTIONS.items()),
        *(_callable(f"{schema}.{name}", roles, called) for name, roles in _FUNCTIONS.items()),
        *(f"ALTER FUNCTION {schema}.{name} SECURITY DEFINER;" for name in _FUNCTIONS),
        "COMMIT;",
    ]
    return "\n".join(parts) + "\n"


def tables() -> list[str]:
    return [*sorted(metadata.tables), *VIEWS, VERSION_TABLE]


def rights(name: str) -> list[Right]:
    """Return the privileges on a table or a sequence. Roles without an entry have none, except for the owner."""
    if name == SEQUENCE:
        return [Right("control", "SELECT")]
    if name in (VERSION_TABLE, *_READ_ONLY):
        return [Right(role, "SELECT") for role in ("control", "worker", "reader")]
    is_history = name in HISTORY
    workers = "SELECT, INSERT" if is_history else "SELECT, INSERT, UPDATE, DELETE"
    return [
        Right("control", "SELECT, INSERT, DELETE" if is_history else "SELECT, INSERT, UPDATE, DELETE"),
        Right("worker", "SELECT" if name in DEFINITIONS else workers),
        Right("reader", "SELECT"),
    ]


def _made(name: str) -> str:
    """Create the role if it is missing. Without a password it cannot log in by password until an operator sets one."""
    return (
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}') "
        f"THEN CREATE ROLE {name} LOGIN; END IF; END $$;"
    )


def _limited(name: str, limits: dict[str, str]) -> str:
    return "\n".join(f"ALTER ROLE {name} SET {setting} = '{value}';" for setting, value in limits.items())


def _for_each_function(which: str, statement: str) -> str:
    """Apply the statement to functions of Postgres itself. Postgres only warns where the caller lacks the privilege."""
    return (
        "DO $$ DECLARE each regprocedure; BEGIN FOR each IN SELECT oid FROM pg_proc"
        f" WHERE pronamespace = 'pg_catalog'::regnamespace AND ({which})"
        f" LOOP EXECUTE format('{statement}', each); END LOOP; END $$;"
    )


def _table(name: str, rights: list[Right], called: dict[str, str]) -> str:
    """Set the owner and the privileges of a table or a view. A table's sequence changes its owner with it."""
    return f"ALTER TABLE {name} OWNER TO {called['owner']};\n{_granted(name, rights, called)}"


def _callable(function: str, roles: tuple[str, ...], called: dict[str, str]) -> str:
    return "\n".join(
        [
            f"ALTER ROUTINE {function} OWNER TO {called['owner']};",
            f"REVOKE ALL ON ROUTINE {function} FROM PUBLIC;",
            *(f"GRANT EXECUTE ON ROUTINE {function} TO {called[role]};" for role in roles),
        ]
    )


def _granted(what: str, rights: list[Right], called: dict[str, str]) -> str:
    """Revoke all earlier privileges and grant these, so that no others remain."""
    others = ", ".join(name for role, name in called.items() if role != "owner")
    return "\n".join(
        [
            f"REVOKE ALL ON {what} FROM PUBLIC, {others};",
            *(f"GRANT {right.verbs} ON {what} TO {called[right.role]};" for right in rights),
        ]
    )
