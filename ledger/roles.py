"""Who may do what in the ledger's database, as SQL that may be run again and again.

What holds once it has been run:

- ``owner`` has the tables, and is who migrates. Nobody else makes, changes or drops one.
- ``control`` is for who plans, grooms and fires schedules, or serves every queue. It reads and writes rows; of the
  history it adds and removes, for retention is the groomer's, and changes nothing. It sees how many ids the history has
  given out, for whoever leads counts it.
- ``worker`` is for processes that run jobs, submit, or act by the console. As ``control``, with two exceptions. It adds
  to the history and never removes from it, so no process that runs users' code can rewrite what has happened. It reads
  definitions that the ledger keeps and does not write them, so it cannot decide by which ones others plan.
- ``reader`` is for the console that may only look, and for people. It reads every table, in transactions that write
  nothing.
- ``submitter`` calls ``submit`` and can do nothing else; that runs with its owner's rights, and finds its table and
  functions in the ledger's schema alone, whatever the caller's ``search_path`` says. ``resume`` runs the same way, and
  a submitter may not call it: that would reach sagas of others.

People who log in by one of these roles find the tables by their names alone: the roles look in the schema first.

Retention has a role, and no function with its owner's rights: whoever may call such a one may remove history by it, and
then it is the groomer's right all the same, in two places. Nothing is granted by default: a table that a migration adds
is out of everybody's reach until this is run again, which shows at once, and does not when too much was granted.
"""

import re

from msgspec import Struct

from sluice.ledger.dialling import SCHEMA
from sluice.ledger.migrate import REVISION, VERSION_TABLE
from sluice.ledger.tables import metadata
from sluice.ledger.tallies import SEQUENCE

#: Rows are added to these and never changed. Whatever else tells of the past, those who run jobs have to change.
HISTORY = ("transition", "audit")
#: Definitions by version, and the branches that point at them. The planner and `sluice apps sync` write them.
DEFINITIONS = ("app_version", "branch", "branch_sync")
#: Functions that run with their owner's rights, and who may call them.
_FUNCTIONS = {"submit(jsonb)": ("control", "worker", "submitter"), "resume(jsonb)": ("control", "worker")}
#: Functions that run with the caller's rights.
_PLAIN_FUNCTIONS = {
    "sluice_submit(jsonb)": ("control", "worker", "submitter"),
    "submission_content(jsonb)": ("control", "worker"),
    "request_fault(jsonb)": (),
}
_PREFIX = re.compile(r"[a-z_][a-z0-9_]{0,40}")
#: What a role's statements may take, wait for locks, and idle in a transaction; a process of ours says the last itself.
#: Whoever migrates may take long, but not keep everybody waiting who waits behind him for a lock.
_LIMITS: dict[str, dict[str, str]] = {
    "owner": {"statement_timeout": "0", "lock_timeout": "10s"},
    "control": {"statement_timeout": "10min", "lock_timeout": "1min"},
    "worker": {"statement_timeout": "10min", "lock_timeout": "1min"},
    "reader": {"statement_timeout": "30s", "lock_timeout": "5s", "default_transaction_read_only": "on"},
    "submitter": {"statement_timeout": "10s", "lock_timeout": "5s"},
}
_IDLE = {"idle_in_transaction_session_timeout": "1min"}
#: Idle sessions are ended after so long, but not those of pools: a process of ours expects them to last.
_IDLE_SESSIONS = {"submitter": "10min"}
#: Sessions at once, of the roles that are given to others.
_CONNECTIONS = {"reader": 50, "submitter": 50}
#: Functions that every role may call by default. An advisory lock of ours stops all planning while a session
#: holds it, and large objects fill the disk.
_EVERYBODYS = "proname LIKE 'pg\\_advisory%' OR proname LIKE 'pg\\_try\\_advisory%' OR proname LIKE 'lo\\_%'"
_LOCKS = "proname LIKE 'pg\\_advisory%' OR proname = 'pg_try_advisory_xact_lock'"


class Right(Struct, frozen=True):
    """What a role may do to the rows of a table, or to a sequence. Whoever inserts rows needs none to theirs."""

    role: str
    verbs: str


def names(prefix: str) -> dict[str, str]:
    """What each role is called; ValueError for a prefix that Postgres would have quoted."""
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"{prefix!r} is not made of up to 41 small letters, digits and _")
    return {role: f"{prefix}_{role}" for role in _LIMITS}


def script(prefix: str = "sluice", schema: str = SCHEMA) -> str:
    """For a superuser, in the ledger's database, after each migration."""
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
    return [*sorted(metadata.tables), VERSION_TABLE]


def rights(name: str) -> list[Right]:
    """Nobody who is not named here may do anything, but for the owner. Of a sequence likewise."""
    if name == SEQUENCE:
        return [Right("control", "SELECT")]
    if name == VERSION_TABLE:
        return [Right(role, "SELECT") for role in ("control", "worker", "reader")]
    is_history = name in HISTORY
    workers = "SELECT, INSERT" if is_history else "SELECT, INSERT, UPDATE, DELETE"
    return [
        Right("control", "SELECT, INSERT, DELETE" if is_history else "SELECT, INSERT, UPDATE, DELETE"),
        Right("worker", "SELECT" if name in DEFINITIONS else workers),
        Right("reader", "SELECT"),
    ]


def _made(name: str) -> str:
    """Without a password it cannot log in by one, until somebody gives it one."""
    return (
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}') "
        f"THEN CREATE ROLE {name} LOGIN; END IF; END $$;"
    )


def _limited(name: str, limits: dict[str, str]) -> str:
    return "\n".join(f"ALTER ROLE {name} SET {setting} = '{value}';" for setting, value in limits.items())


def _for_each_function(which: str, statement: str) -> str:
    """Of Postgres' own, as far as the caller may: otherwise Postgres warns and goes on."""
    return (
        "DO $$ DECLARE each regprocedure; BEGIN FOR each IN SELECT oid FROM pg_proc"
        f" WHERE pronamespace = 'pg_catalog'::regnamespace AND ({which})"
        f" LOOP EXECUTE format('{statement}', each); END LOOP; END $$;"
    )


def _table(name: str, rights: list[Right], called: dict[str, str]) -> str:
    """Its sequence goes with it to the owner."""
    return f"ALTER TABLE {name} OWNER TO {called['owner']};\n{_granted(name, rights, called)}"


def _callable(function: str, roles: tuple[str, ...], called: dict[str, str]) -> str:
    return "\n".join(
        [
            f"ALTER FUNCTION {function} OWNER TO {called['owner']};",
            f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC;",
            *(f"GRANT EXECUTE ON FUNCTION {function} TO {called[role]};" for role in roles),
        ]
    )


def _granted(what: str, rights: list[Right], called: dict[str, str]) -> str:
    """What was granted before is taken back first, so that this is all there is."""
    others = ", ".join(name for role, name in called.items() if role != "owner")
    return "\n".join(
        [
            f"REVOKE ALL ON {what} FROM PUBLIC, {others};",
            *(f"GRANT {right.verbs} ON {what} TO {called[right.role]};" for right in rights),
        ]
    )
