"""The ledger through a pooler in transaction mode: settings, prepared statements, and what goes past it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from socket import socketpair

import psycopg
import pytest
from psycopg import pq

from sluice.actors.assembly import open_ledger
from sluice.actors.settings.settings import Settings
from sluice.jobs.errors import BadSetting, Unreachable
from sluice.ledger.database import notify
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.driver import PreparedConnection
from sluice.ledger.database.pooler import PooledConnection
from sluice.ledger.fixtures import scratch_ledger
from sluice.ledger.schema import migrate
from tests.poolers import SERVER_CONNECTIONS, Pooler, pgbouncer
from tests.world import World

_SETTINGS = ("search_path", "timezone", "plan_cache_mode", "enable_seqscan", "jit")
_SHOWN = "SELECT " + ", ".join(f"current_setting('{name}') AS {name}" for name in _SETTINGS)
_PID = "SELECT pg_backend_pid()"
CLIENTS = 4 * SERVER_CONNECTIONS


@pytest.fixture(scope="module", params=["tracked", "untracked"])
def pooler(request: pytest.FixtureRequest, embedded_url: str) -> Iterator[Pooler]:
    """Yield a pooler that tracks prepared statements, if its version can, and a pooler that does not."""
    with pgbouncer(embedded_url, tracks_statements=request.param == "tracked") as made:
        if request.param == "tracked" and not made.tracks_statements:
            pytest.skip("this version of PgBouncer does not track prepared statements")
        yield made


@dataclass
class Place:
    """A ledger through a pooler, and the same ledger without it."""

    pooled: Ledger
    direct: Ledger
    pooler: Pooler


@pytest.fixture
def place(pooler: Pooler, world: World, embedded_url: str) -> Iterator[Place]:
    if world.url != embedded_url:
        pytest.skip("the pooler is before the embedded database")
    with (
        closing(Ledger(world.url, steady=True, connections=CLIENTS, pooler_url=pooler.url)) as pooled,
        closing(Ledger(world.url, steady=True)) as direct,
    ):
        yield Place(pooled, direct, pooler)


@pytest.mark.parametrize("steady", [True, False])
def test_each_transaction_has_the_settings_of_the_ledger_and_leaves_none(place: Place, steady: bool) -> None:
    with (
        closing(Ledger(place.direct.url, steady=steady)) as alone,
        closing(Ledger(place.direct.url, steady=steady, pooler_url=place.pooler.url)) as pooled,
    ):
        wanted = alone.transact(lambda tx: tx.rows(_SHOWN))
        for _ in range(2 * SERVER_CONNECTIONS):
            assert pooled.transact(lambda tx: tx.rows(_SHOWN)) == wanted
    with psycopg.connect(place.pooler.url) as stranger:
        assert stranger.execute("SHOW search_path").fetchone() == ('"$user", public',)
        assert stranger.execute("SHOW enable_seqscan").fetchone() == ("on",)


def test_begin_the_settings_the_preparation_and_the_first_statement_are_one_round_trip(place: Place) -> None:
    with place.pooled.begin() as tx:
        connection = tx.connection
        asked = connection.asked
        assert tx.column("SELECT %(x)s::int", x=1) == [1]
        assert connection.pgconn.transaction_status == pq.TransactionStatus.INTRANS
        assert tx.column("SELECT %(x)s::int + 1", x=1) == [2]
        assert tx.column("SELECT %(x)s::int + 1", x=2) == [3]
        assert connection.asked - asked == 3


def test_prepared_statements_have_names_only_if_the_pooler_tracks_them(place: Place) -> None:
    with place.pooled.begin() as tx:
        assert isinstance(tx.connection, PooledConnection)
        assert tx.connection.tracks_statements is place.pooler.tracks_statements
        tx.column("SELECT %(x)s::int", x=1)
        named = tx.column("SELECT name FROM pg_prepared_statements")
    assert bool(named) is place.pooler.tracks_statements


def test_clients_that_share_connections_of_the_server_each_run_their_own_statements(place: Place) -> None:
    """Each client names its statements alike, in an order of its own."""
    together = threading.Barrier(CLIENTS)

    def run(client: int) -> set[int]:
        pids: set[int] = set()
        with closing(
            Ledger(place.direct.url, steady=True, connections=1, pooler_url=place.pooler.url)
        ) as own:
            together.wait(30)
            for number in range(40):
                tag = (client + number) % 7

                def work(tx: Tx, tag: int = tag, number: int = number) -> int:
                    assert tx.column(f"SELECT {tag} * 1000 + %(x)s::int", x=number) == [tag * 1000 + number]
                    [pid] = tx.column(_PID)
                    assert tx.column(f"SELECT %(x)s::text || '{tag}'", x=str(number)) == [f"{number}{tag}"]
                    return int(pid)

                pids.add(own.transact(work))
        return pids

    with ThreadPoolExecutor(CLIENTS) as threads:
        pids = list(threads.map(run, range(CLIENTS)))
    assert len(set().union(*pids)) <= SERVER_CONNECTIONS
    assert any(len(each) > 1 for each in pids), "no client changed its connection of the server"


def test_an_error_rolls_back_and_the_connection_goes_on(place: Place) -> None:
    for _ in range(3):
        with pytest.raises(psycopg.errors.DivisionByZero):
            place.pooled.transact(lambda tx: tx.column("SELECT 1 / %(x)s::int", x=0))
        with pytest.raises(psycopg.errors.UndefinedTable):
            place.pooled.transact(lambda tx: tx.column("SELECT %(x)s::int FROM missing", x=0))
        assert place.pooled.transact(lambda tx: tx.column("SELECT %(x)s::int", x=2)) == [2]


def test_statements_beyond_the_limit_of_prepared_statements_run_without_names(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.ledger.database.pooler.PREPARED_MAX", 3)
    for number in range(8):
        found = place.pooled.transact(
            lambda tx, number=number: tx.column(f"SELECT {number} + %(x)s::int", x=1)  # type: ignore[misc]  # the default is an int
        )
        assert found == [number + 1]


def test_transactions_of_users_have_a_session_of_their_own(place: Place) -> None:
    with place.pooled.transaction() as tx:
        assert type(tx.connection) is PreparedConnection
        tx.connection.execute("CREATE TEMPORARY TABLE mine (x int)")
        tx.connection.execute("SET work_mem = '9MB'")
        tx.connection.execute("INSERT INTO mine VALUES (1)")
        # It may call the ledger meanwhile, which takes another connection.
        assert place.pooled.transact(lambda other: other.column("SHOW work_mem")) != ["9MB"]
    for _ in range(2 * SERVER_CONNECTIONS):
        assert place.pooled.transact(lambda tx: tx.column("SELECT to_regclass('mine')")) == [None]


def test_notifications_go_past_the_pooler(place: Place) -> None:
    with place.pooled.apart() as (connection, _):
        ears = notify.listen(connection, notify.MESSAGES)
        place.pooled.transact(lambda tx: notify.notify(tx, "sent through the pooler"))
        never, other_end = socketpair()
        with never, other_end:
            assert ears.words(never, 10) == ["sent through the pooler"]


def test_the_ledger_works_again_when_the_pooler_is_back(place: Place) -> None:
    assert place.pooled.transact(lambda tx: tx.column("SELECT 1")) == [1]
    place.pooler.server.restart()
    assert place.pooled.transact(lambda tx: tx.column("SELECT 2")) == [2]


def test_a_pooler_before_another_ledger_is_refused(place: Place) -> None:
    with scratch_ledger(place.direct.url) as other:
        settings = Settings(ledger_url=other, ledger_pooler_url=place.pooler.url)
        with pytest.raises(BadSetting, match="another ledger"), open_ledger(settings):
            pass


def test_an_address_of_a_pooler_in_the_place_of_the_ledgers_is_refused_with_advice(place: Place) -> None:
    with pytest.raises(Unreachable) as caught:
        migrate.schema(place.pooler.url)
    assert "SLUICE_LEDGER_POOLER_URL" in caught.value.advice
