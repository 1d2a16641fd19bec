"""Rights of the database roles, and statements that the database refuses to them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from string import Template
from uuid import uuid4

import psycopg
import pytest
from msgspec.structs import replace
from psycopg.errors import InsufficientPrivilege, ObjectNotInPrerequisiteState, ReadOnlySqlTransaction

from sluice.actors.scheduler.leader import Ticker
from sluice.broker.messages import Message
from sluice.jobs.errors import BadSetting
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import plan_attempts
from sluice.ledger.limits import pauses
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.retention import removal
from sluice.ledger.schema import migrate, roles
from sluice.ledger.stats.state_counts import SEQUENCE
from sluice.ops.observe.metrics import families
from sluice.ops.observe.metrics.ledger_metrics import numbers
from tests.jobs.runners.runner_bench import eventually
from tests.ledger.generations import database
from tests.ledger.role_ledgers import SERVERS, Roled
from tests.world import World


@pytest.fixture(scope="module", params=SERVERS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roled]:
    with SERVERS[request.param](tmp_path_factory.mktemp("roles")) as made:
        with World(made.admin_url) as world:
            world.apps("a -> b")
            world.submit("b")
        yield made


_GRANTED = """
SELECT acl.grantee::regrole::text, pg_class.relname, array_agg(acl.privilege_type::text ORDER BY acl.privilege_type)
FROM pg_class, aclexplode(relacl) AS acl
WHERE relnamespace = 'sluice'::regnamespace AND acl.grantee = ANY (%s::regrole[]) GROUP BY 1, 2
"""


def test_each_role_has_exactly_its_documented_rights(place: Roled) -> None:
    names = {place.names[role]: role for role in ("control", "worker", "reader", "submitter")}
    documented = {
        (right.role, name): sorted(right.verbs.split(", "))
        for name in [*roles.tables(), SEQUENCE]
        for right in roles.rights(name)
    }
    with psycopg.connect(place.admin_url) as connection:
        rows = connection.execute(_GRANTED, ([*names],)).fetchall()
    assert {(names[name], relation): verbs for name, relation, verbs in rows} == documented


def test_the_owner_owns_every_table(place: Roled) -> None:
    with psycopg.connect(place.admin_url) as connection:
        found = connection.execute(
            "SELECT tablename, tableowner FROM pg_tables WHERE schemaname = 'sluice'"
            " UNION ALL SELECT viewname, viewowner FROM pg_views WHERE schemaname = 'sluice'"
        ).fetchall()
    assert dict(found) == dict.fromkeys(roles.tables(), place.names["owner"])


def test_public_has_no_rights_in_the_schema(place: Roled) -> None:
    asked = """
    SELECT relname FROM pg_class, aclexplode(relacl) AS acl
    WHERE relnamespace = 'sluice'::regnamespace AND acl.grantee = 0
    UNION ALL SELECT proname FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
    WHERE pronamespace = 'sluice'::regnamespace AND acl.grantee = 0
    UNION ALL SELECT 'schema' FROM pg_namespace, aclexplode(nspacl) AS acl
    WHERE nspname = 'sluice' AND acl.grantee = 0 AND acl.privilege_type = 'CREATE'
    """
    with psycopg.connect(place.admin_url) as connection:
        assert connection.execute(asked).fetchall() == []


_SCHEMA = ("CREATE TABLE mine (x int)", "DROP TABLE job", "ALTER TABLE job ADD COLUMN x int")
_HISTORY = ("TRUNCATE history", "UPDATE history SET note = 'x'", "UPDATE audit SET actor = 'x'")
_VERSION = "UPDATE sluice_version SET version_num = 'x'"
_DELETIONS = tuple(f"DELETE FROM {table}" for table in roles.HISTORY)
_EVERYBODYS = (
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_try_advisory_xact_lock_shared(1, 2)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_creat(-1)",
    "CREATE TEMPORARY TABLE mine (x int)",
)
#: Statements that the database must refuse, by role and kind of right.
REFUSED: Mapping[tuple[str, str], Sequence[str]] = {
    **{(role, "change the schema"): _SCHEMA for role in ("control", "worker", "reader", "submitter")},
    ("control", "change history"): (*_HISTORY, _VERSION),
    ("worker", "change history"): (*_HISTORY, _VERSION, *_DELETIONS),
    ("reader", "change history"): (*_HISTORY, _VERSION, *_DELETIONS),
    ("submitter", "change history"): _HISTORY,
    ("submitter", "read"): tuple(f"SELECT FROM {table}" for table in roles.tables()),
    ("submitter", "write"): ("INSERT INTO submission DEFAULT VALUES",),
    ("reader", "write"): ("INSERT INTO job DEFAULT VALUES", "UPDATE job SET state = 'ready'"),
    ("reader", "submit"): ("SELECT sluice.submit('{}')",),
    ("submitter", "resume"): ("SELECT sluice.resume('{}')",),
    ("reader", "resume"): ("SELECT sluice.resume('{}')",),
    **{(role, "take locks or disk"): _EVERYBODYS for role in ("reader", "submitter")},
    ("worker", "take disk"): _EVERYBODYS[2:],
    ("worker", "change definitions"): tuple(
        statement
        for table in roles.DEFINITIONS
        for statement in (f"INSERT INTO {table} DEFAULT VALUES", f"DELETE FROM {table}")
    ),
    ("worker", "change a function"): (
        "CREATE OR REPLACE FUNCTION sluice.submit(jsonb) RETURNS text LANGUAGE sql AS 'SELECT 1'",
        "ALTER FUNCTION sluice.submit(jsonb) SECURITY INVOKER",
    ),
    ("worker", "become another role"): (
        "SET ROLE $owner",
        "SET ROLE $control",
        "GRANT $control TO $worker",
    ),
}


@pytest.mark.parametrize(("role", "right"), REFUSED, ids=[" may not ".join(each) for each in REFUSED])
def test_the_database_refuses_each_forbidden_statement(place: Roled, role: str, right: str) -> None:
    assert _not_refused(place, role, REFUSED[role, right]) == []


def test_a_statement_that_is_not_refused_is_reported(place: Roled) -> None:
    """Show that the check above can fail."""
    statements = ("DELETE FROM audit", "SELECT FROM audit", "SELECT FROM missing")
    found = _not_refused(place, "reader", statements)
    assert [line.partition("\n")[0] for line in found] == [
        "SELECT FROM audit: accepted",
        'SELECT FROM missing: UndefinedTable: relation "missing" does not exist',
    ]


def _not_refused(place: Roled, role: str, statements: Sequence[str]) -> list[str]:
    """Return each statement that does not fail for lack of rights, with its outcome. An accepted one is rolled back."""
    found = []
    with place.connect(role) as connection:
        connection.execute("SET default_transaction_read_only = off")
        for statement in statements:
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(Template(statement).substitute(place.names).encode())
                found.append(f"{statement}: accepted")
            except InsufficientPrivilege:
                pass
            except psycopg.Error as error:
                found.append(f"{statement}: {type(error).__name__}: {error}")
    return found


def test_a_reader_stays_read_only_despite_additional_rights(place: Roled) -> None:
    with place.connect("reader") as connection:
        connection.execute("SELECT FROM job")
        with pytest.raises(ReadOnlySqlTransaction):
            connection.execute("CREATE TABLE mine (x int)")


def test_a_submission_by_a_submitter_is_stored_if_its_transaction_commits(place: Roled) -> None:
    with place.connect("submitter") as connection:
        submitted = connection.execute("""SELECT sluice.submit('{"app": "a", "key": "1", "id": "theirs"}')""")
        assert submitted.fetchone() == ("theirs",)
        with connection.transaction(force_rollback=True):
            connection.execute("""SELECT sluice.submit('{"app": "a", "key": "1", "id": "undone"}')""")
    with psycopg.connect(place.admin_url) as admin:
        found = admin.execute("SELECT id FROM submission WHERE id IN ('theirs', 'undone')").fetchall()
    assert found == [("theirs",)]


def test_a_role_that_was_granted_resume_can_send_an_event(place: Roled) -> None:
    grant = Template("GRANT EXECUTE ON FUNCTION sluice.resume(jsonb) TO $submitter").substitute(place.names)
    with psycopg.connect(place.admin_url) as admin:
        admin.execute(grant.encode())
    with place.connect("submitter") as connection:
        answer = connection.execute(
            """SELECT sluice.resume('{"app": "a", "key": "1", "id": "e"}')"""
        ).fetchone()
    assert answer == ("kept",)
    with psycopg.connect(place.admin_url) as admin:
        assert admin.execute("SELECT by FROM saga_signal_early").fetchall() == [(place.names["submitter"],)]
        admin.execute("DELETE FROM saga_signal_early")
        admin.execute(grant.replace("GRANT", "REVOKE").replace(" TO ", " FROM ").encode())


def test_the_submit_function_ignores_tables_and_functions_of_the_caller(place: Roled) -> None:
    """The caller has its own table and function first on its search path.

    Creating them needs a right that the script revokes.
    """
    with psycopg.connect(place.admin_url, autocommit=True) as admin:
        admin.execute(
            f"GRANT TEMPORARY ON DATABASE {admin.info.dbname} TO {place.names['submitter']}".encode()
        )
    with place.connect("submitter") as connection:
        connection.execute("SET search_path = pg_temp, public")
        connection.execute("CREATE TEMPORARY TABLE submission (LIKE pg_class)")
        connection.execute(
            "CREATE FUNCTION pg_temp.jsonb_build_object(text, text) RETURNS jsonb LANGUAGE sql"
            " AS $$ SELECT NULL::jsonb $$"
        )
        connection.execute("""SELECT sluice.submit('{"app": "a", "id": "in-the-way"}')""")
    with psycopg.connect(place.admin_url, autocommit=True) as admin:
        admin.execute(
            f"REVOKE TEMPORARY ON DATABASE {admin.info.dbname} FROM {place.names['submitter']}".encode()
        )
        found = admin.execute("SELECT request ->> 'id' FROM submission WHERE id = 'in-the-way'").fetchall()
    assert found == [("in-the-way",)]


def test_only_control_may_prune_history(place: Roled) -> None:
    with World(place.admin_url) as world:
        world.apps("a")
        world.submit("a")
        world.finish("a")
        assert world.states() == {"a": State.SUCCEEDED}
    for role, refused in (("worker", True), ("control", False)):
        ledger = Ledger(place.url(role), connections=1)
        try:
            if refused:
                with pytest.raises(BadSetting, match="permission denied for table history") as caught:
                    ledger.transact(lambda tx: removal.prune(tx, keep_s=1.0, limit=10))
                assert "sluice db roles" in caught.value.advice
            else:
                removed = ledger.transact(lambda tx: removal.prune(tx, keep_s=1.0, limit=10)).removed
                assert removed.transitions > 0
            assert ledger.transact(breaches) == []
        finally:
            ledger.close()


def test_a_leader_with_the_control_role_counts_transitions(place: Roled) -> None:
    with World(place.admin_url) as world:
        world.apps("a")
        world.submit("a")
        world.finish("a")
        with closing(Ledger(place.url("control"), connections=1, clock=lambda: world.now)) as ledger:
            sent: list[Message] = []
            ticker = Ticker(ledger, uuid4(), sent.extend, period_s=1.0)

            def counted() -> bool:
                world.now += timedelta(seconds=60)
                ticker.tick()
                return ledger.transact(lambda tx: tx.rows(_COUNTED)) == [(True,)]

            # A transaction of another test on the same server delays the count.
            eventually(counted)


_COUNTED = "SELECT counted = (SELECT max(id) FROM history) FROM aggregation_cursor"


@pytest.mark.parametrize("role", ["reader", "worker", "control"])
def test_a_role_may_read_all_metrics(place: Roled, role: str) -> None:
    with closing(Ledger(place.url(role), connections=1)) as ledger:
        found = ledger.transact(lambda tx: numbers(tx, ["a"], keep_s=60.0, keep_jobs_s=60.0))
    assert found[families.TABLE_BYTES]
    assert found[families.CONNECTIONS][()] > 0
    assert found[families.RETENTION_OVERDUE].keys() == {("history",), ("jobs",), ("submissions",)}


def test_each_role_has_its_timeouts(place: Roled) -> None:
    asked = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    found = {}
    for role in place.names:
        with place.connect(role) as connection:
            rows = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in asked]
            found[role] = [row[0] for row in rows if row]
    assert found == {
        "owner": ["0", "10s", "1min"],
        "control": ["10min", "1min", "1min"],
        "worker": ["10min", "1min", "1min"],
        "reader": ["30s", "5s", "1min"],
        "submitter": ["10s", "5s", "1min"],
    }


def test_the_connections_and_the_idle_time_of_submitters_are_limited(place: Roled) -> None:
    limits = "SELECT rolname::text, rolconnlimit FROM pg_roles WHERE rolname = ANY (%s)"
    with psycopg.connect(place.admin_url) as admin:
        found = dict(admin.execute(limits, ([*place.names.values()],)).fetchall())
    by_role = {role: found[name] for role, name in place.names.items()}
    assert by_role == {"owner": -1, "control": -1, "worker": -1, "reader": 50, "submitter": 50}
    for role, span in (("submitter", "10min"), ("reader", "0"), ("worker", "0")):
        with place.connect(role) as connection:
            assert connection.execute("SHOW idle_session_timeout").fetchone() == (span,)


def test_worker_control_and_owner_may_take_the_advisory_locks_they_need(place: Roled) -> None:
    """Sluice's own statements need the lock functions that the script revokes from ``PUBLIC``."""
    with closing(Ledger(place.url("worker"), connections=1)) as ledger:
        ledger.transact(lambda tx: pauses.lock_pauses(tx, [1]))
    with closing(Ledger(place.url("control"), connections=1)) as ledger:
        assert ledger.transact(plan_attempts.take_turn)
    migrate.require(place.url("owner"))


def test_the_script_revokes_additional_rights(place: Roled) -> None:
    with psycopg.connect(place.admin_url, autocommit=True) as admin:
        admin.execute(f"GRANT ALL ON history TO {place.names['worker']}, PUBLIC".encode())
    place.grant()
    with place.connect("worker") as connection, pytest.raises(InsufficientPrivilege):
        connection.execute("DELETE FROM history")


def test_the_owner_can_migrate_an_empty_database(place: Roled) -> None:
    with database(place.admin_url) as fresh:
        with psycopg.connect(fresh, autocommit=True) as admin:
            name = admin.info.dbname
            admin.execute(f"ALTER DATABASE {name} OWNER TO {place.names['owner']}".encode())
        assert migrate.upgrade(place.url("owner", within=fresh)) == migrate.REVISION


@pytest.mark.parametrize("prefix", ["", "Sluice", "a b", "x; DROP TABLE job", '"', "x" * 42])
def test_a_prefix_that_needs_quoting_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="small letters"):
        roles.script(prefix)


def test_a_submitter_can_record_a_success_only_with_the_id_of_the_worker(place: Roled) -> None:
    """The code of a job has this ID, and may connect as any role that may submit."""
    with World(place.admin_url) as world:
        world.apps("a")
        world.submit("a")
        right = world.right_of(world.take("a"))
        with place.connect("submitter") as connection:
            with pytest.raises(ObjectNotInPrerequisiteState), connection.transaction():
                replace(right, worker=str(uuid4())).record(connection, "")
            assert world.state("a") is State.RUNNING
            with connection.transaction():
                right.record(connection, "")
        assert world.state("a") is State.EXECUTED
