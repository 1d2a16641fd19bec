"""Direct execution of statements by libpq, in comparison with psycopg's cursors."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest
from psycopg import pq

from sluice.ledger.database import driver
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.driver import CursorConnection, PreparedConnection
from tests.broker.conftest import until
from tests.world import World

MOMENT = datetime(2026, 1, 1, 12, 30, 0, 250, tzinfo=UTC)
VALUES = {
    "none": None,
    "yes": True,
    "small": 1,
    "large": 2**40,
    "part": 0.1,
    "text": "50 % of \"it\", 'all' of it; \\ ∞",
    "moment": MOMENT,
    "uuid": UUID(int=7),
    "numbers": [1, 2**40, None],
    "parts": [0.5, None],
    "texts": ["a", None, '"b", {c}'],
    "moments": [MOMENT, None],
    "nobody": [],
}
CASTS = {
    "none": "text",
    "yes": "bool",
    "small": "int",
    "large": "bigint",
    "part": "float8",
    "text": "text",
    "moment": "timestamptz",
    "uuid": "uuid",
    "numbers": "bigint[]",
    "parts": "float8[]",
    "texts": "text[]",
    "moments": "timestamptz[]",
    "nobody": "bigint[]",
}
ALL = "SELECT {}, 5 %% 3 AS rest, %(small)s::bigint AS again".format(
    ", ".join(f"%({name})s::{kind} AS {name}" for name, kind in CASTS.items())
)


@pytest.fixture
def swift(world: World) -> Iterator[PreparedConnection]:
    with PreparedConnection.connect(world.url, options="-c timezone=UTC") as connection:
        yield connection


@pytest.fixture
def plain(world: World) -> Iterator[CursorConnection]:
    with CursorConnection.connect(world.url, options="-c timezone=UTC") as connection:
        yield connection


@pytest.fixture
def ledger(world: World) -> Iterator[Ledger]:
    made = Ledger(world.url, connections=1, steady=True)
    yield made
    made.close()


def test_values_are_written_and_read_as_with_a_cursor(
    swift: PreparedConnection, plain: CursorConnection
) -> None:
    for small in (1, 2**20, 2**30):
        values = VALUES | {"small": small}
        assert swift.rows(ALL, values) == plain.rows(ALL, values)
        assert swift.named_rows(ALL, values) == plain.named_rows(ALL, values)
    ((*came, rest, again),) = swift.rows(ALL, VALUES)
    assert came == [*VALUES.values()]
    assert (rest, again) == (2, 1)


def test_a_write_returns_the_number_of_rows(swift: PreparedConnection, plain: CursorConnection) -> None:
    with ExitStack() as both:
        for connection in (swift, plain):
            both.enter_context(connection.begun())
            connection.write("CREATE TEMPORARY TABLE seen (id int)", {})
            assert connection.write("INSERT INTO seen SELECT generate_series(1, %(most)s)", {"most": 3}) == 3
            assert connection.write("UPDATE seen SET id = id WHERE id > %(most)s", {"most": 3}) == 0


def _write(connection: CursorConnection, id: int, then: Callable[[], object]) -> None:
    with connection.begun():
        connection.write("INSERT INTO kept VALUES (%(id)s)", {"id": id})
        then()


def test_a_transaction_that_raises_is_rolled_back(swift: PreparedConnection, plain: CursorConnection) -> None:
    with plain.begun():
        plain.write("CREATE TABLE kept (id int)", {})
    with swift.begun():
        swift.write("INSERT INTO kept VALUES (1)", {})
    with pytest.raises(psycopg.errors.DivisionByZero):
        _write(swift, 2, lambda: swift.rows("SELECT 1 / %(nothing)s", {"nothing": 0}))
    with pytest.raises(KeyError):
        _write(swift, 3, lambda: swift.rows("SELECT %(unsaid)s", {}))
    with plain.begun():
        assert plain.rows("SELECT id FROM kept", {}) == [(1,)]
        plain.write("DROP TABLE kept", {})


def test_the_first_statement_begins_the_transaction(swift: PreparedConnection) -> None:
    with swift.begun():
        asked = swift.asked
        assert swift.pgconn.transaction_status == pq.TransactionStatus.IDLE
        swift.rows("SELECT 1", {})
        assert swift.pgconn.transaction_status == pq.TransactionStatus.INTRANS
        swift.rows("SELECT 1", {})
    assert swift.asked - asked == 1 + len(("prepare", "SELECT", "COMMIT")), (
        "BEGIN is no round trip of its own"
    )
    asked = swift.asked
    with swift.begun():
        pass
    assert swift.asked == asked, "a transaction without statements sends nothing"


def test_a_first_statement_that_fails_leaves_no_transaction(swift: PreparedConnection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero), swift.begun():
        swift.rows("SELECT 1 / %(nothing)s", {"nothing": 0})
    assert swift.pgconn.transaction_status == pq.TransactionStatus.IDLE
    with swift.begun():
        assert swift.rows("SELECT 1", {}) == [(1,)]


def test_a_first_statement_may_be_larger_than_the_buffers_of_the_connection(
    swift: PreparedConnection,
) -> None:
    text = "x" * 50_000_000
    with swift.begun():
        assert swift.rows("SELECT %(text)s::text", {"text": text}) == [(text,)]


def test_a_connection_that_is_lost_with_the_first_statement_raises(
    swift: PreparedConnection, plain: CursorConnection
) -> None:
    with plain.begun():
        plain.rows("SELECT pg_terminate_backend(%(pid)s)", {"pid": swift.info.backend_pid})
    with pytest.raises(psycopg.OperationalError), swift.begun():
        swift.rows("SELECT 1", {})


def test_a_connection_keeps_a_limited_number_of_prepared_statements(swift: PreparedConnection) -> None:
    for more in range(driver.PREPARED_MAX + 3):
        assert swift.rows(f"SELECT {more}, %(x)s::int", {"x": 1}) == [(more, 1)]
    kept = swift.rows("SELECT count(*) FROM pg_prepared_statements", {})
    assert kept == [(driver.PREPARED_MAX,)]
    assert swift.rows("SELECT 0, %(x)s::int", {"x": 2}) == [(0, 2)]


def test_an_error_is_the_same_as_with_a_cursor(swift: PreparedConnection, plain: CursorConnection) -> None:
    errors = []
    for connection in (swift, plain):
        with pytest.raises(psycopg.errors.CheckViolation) as caught, connection.begun():
            connection.write(
                "INSERT INTO gate (child, gate, name, unmet, impossible) VALUES (1, 0, '', 0, 1)", {}
            )
        errors.append((caught.value.sqlstate, caught.value.diag.constraint_name))
    assert errors == [("23514", "gate_counts")] * 2


def test_other_threads_go_on_while_one_thread_waits(
    swift: PreparedConnection, plain: CursorConnection
) -> None:
    with plain.begun():
        plain.rows("SELECT pg_advisory_xact_lock(%(key)s)", {"key": 5_318_013})
        waits = threading.Thread(
            target=lambda: swift.rows("SELECT pg_advisory_xact_lock(%(key)s)", {"key": 5_318_013})
        )
        waits.start()
        until(
            lambda: plain.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", {}) != []
        )
    waits.join(30)
    assert not waits.is_alive()


def test_a_connection_that_was_ended_is_replaced(ledger: Ledger, plain: CursorConnection) -> None:
    def pid() -> int:
        return int(ledger.transact(lambda tx: tx.column("SELECT pg_backend_pid()"))[0])

    before = pid()
    with plain.begun():
        plain.rows("SELECT pg_terminate_backend(%(pid)s)", {"pid": before})
    assert pid() != before


def test_statements_that_the_server_has_dropped_are_prepared_again(ledger: Ledger) -> None:
    assert ledger.transact(lambda tx: tx.column("SELECT %(x)s::int", x=1)) == [1]
    with ledger.transaction() as tx:
        tx.connection.execute(b"DEALLOCATE ALL")
    assert ledger.transact(lambda tx: tx.column("SELECT %(x)s::int", x=2)) == [2]


def test_statements_of_users_do_not_make_the_driver_drop_ours(ledger: Ledger) -> None:
    """psycopg prepares a statement that is repeated. After a DROP, it drops all prepared statements of the session."""
    ask = "SELECT %(x)s::int + 1"
    with ledger.transaction() as tx:
        assert tx.column(ask, x=1) == [2]
        for _ in range(10):
            tx.connection.execute("SELECT 1")
        tx.connection.execute("CREATE TEMPORARY TABLE mine (x int)")
        tx.connection.execute("DROP TABLE mine")
        tx.connection.execute("SELECT 1")
        assert tx.column(ask, x=1) == [2]
