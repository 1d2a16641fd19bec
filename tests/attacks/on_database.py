"""Sessions of the database roles of other programs."""

from contextlib import ExitStack

import psycopg

from tests.attacks.attack import attack
from tests.attacks.installation import Installation, line

#: Sessions that a submitter tries to open. Its limit must be lower, so that control and workers still get sessions.
SESSIONS_TRIED = 60


@attack("the locks of the planner, taken by a submitter and a reader")
def locks(place: Installation) -> str:
    held = "SELECT count(pg_advisory_lock(5318009, s)) FROM generate_series(0, 63) s"
    place.refused_by_sql("reader", held)
    place.refused_by_sql("submitter", "SELECT pg_try_advisory_xact_lock_shared(5318009, 1)")
    return place.refused_by_sql("submitter", held)


@attack("temporary tables and large objects of a submitter")
def disk(place: Installation) -> str:
    place.refused_by_sql("submitter", "SELECT lo_from_bytea(0, 'x')")
    place.refused_by_sql("submitter", "SELECT lo_creat(-1)")
    place.refused_by_sql("reader", "CREATE TEMPORARY TABLE mine (x int)")
    return place.refused_by_sql("submitter", "CREATE TEMPORARY TABLE mine AS SELECT generate_series(1, 1e9)")


@attack("more sessions of a submitter than it may have, without a timeout")
def sessions(place: Installation) -> str:
    refusal = ""
    with ExitStack() as stack:
        for _ in range(SESSIONS_TRIED):
            try:
                connection = stack.enter_context(place.connect("submitter"))
            except psycopg.OperationalError as error:
                refusal = str(error)
                break
            connection.execute("SET statement_timeout = 0")
            connection.execute("SET idle_session_timeout = 0")
        # The probe has a session of this role, too. It was opened before.
        with psycopg.connect(place.place.admin_url) as admin:
            admin.execute("SELECT 1")
    assert "too many connections for role" in refusal, refusal
    return line(refusal.rpartition("FATAL: ")[2])


@attack("tables and functions of others, by a submitter and a reader")
def rights(place: Installation) -> str:
    place.refused_by_sql("submitter", "SELECT request FROM submission")
    place.refused_by_sql("submitter", "INSERT INTO job DEFAULT VALUES")
    place.refused_by_sql("submitter", "SELECT pg_read_file('/etc/passwd')")
    place.refused_by_sql("submitter", "COPY (SELECT 1) TO PROGRAM 'id'")
    place.refused_by_sql("reader", "SET ROLE tested_worker")
    place.refused_by_sql("reader", "UPDATE submission SET state = 'cancelled'")
    return place.refused_by_sql("submitter", """SELECT sluice.resume('{"app": "nightly", "key": "1"}')""")


@attack("history and definitions, changed with the worker's role")
def history(place: Installation) -> str:
    place.refused_by_sql("worker", "UPDATE audit SET actor = 'x'")
    place.refused_by_sql("worker", "DELETE FROM history")
    place.refused_by_sql("worker", "INSERT INTO branch (branch, app, version) VALUES ('b', 'daily', '1')")
    return place.refused_by_sql("worker", "UPDATE app_version SET options = '{}'")
