"""The way to the database: a pool, a transaction that may be repeated, and the clock it reads."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from threading import Lock
from typing import Any, TypeVar

import msgspec
import psycopg
from msgspec import Struct, field
from psycopg import Connection
from psycopg_pool import ConnectionPool, PoolTimeout

from sluice.jobs.address import without_password
from sluice.jobs.errors import BadSetting
from sluice.jobs.places import Place, reached
from sluice.jobs.submission import Refusal
from sluice.ledger.dialling import dialled, unreachable
from sluice.ledger.driver import Plain, Row, Swift

T = TypeVar("T")
#: What users' code gets for writes of its own: a psycopg connection in an open transaction.
UserConnection = Connection[Row]

#: How often a transaction is run again after a deadlock, a serialization failure or a lost connection.
TRIES = 5
#: How long a caller waits for a connection before the ledger counts as out of reach.
PATIENCE_S = 10.0
#: A transaction in which its process does nothing for so long is ended by the database. A process that stands still in
#: the middle of one (stopped, swapped out, its machine paused) would keep all others from the rows that it has locked.
IDLE_S_MAX = 60.0

#: For whoever runs the same statements on a few jobs over and over. Postgres would plan each of them anew, which takes
#: it longer than to run it; and what it keeps must not be plans for tables that were empty when they were made.
#: Nor must they take a few for as many as the statistics say there are of such: where a hundred thousand jobs need the
#: same one, that would have each statement about needs read them all.
_LOOK_UP = {"plan_cache_mode": "force_generic_plan", "enable_mergejoin": "off", "enable_hashjoin": "off"}
_READ = {"plan_cache_mode": "force_custom_plan", "enable_mergejoin": "on", "enable_hashjoin": "on"}
#: Nor have others begin to help: there is too little to do for that.
_ALWAYS = {"enable_seqscan": "off", "max_parallel_workers_per_gather": "0"}
_STEADY = _LOOK_UP | _ALWAYS
_READ_MANY = "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in _READ.items())
#: A statement on more than so many is planned for what it is about all the same, with all that follow it.
_FEW = 500

# Without "$user": a role may be named like the ledger's schema.
_FOR_USERS = b"SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL search_path = public"
# Not LOCAL, because users' code may have set it for longer than the transaction.
_FOR_US = b"SET LOCAL idle_in_transaction_session_timeout TO DEFAULT; RESET search_path"

#: It was nobody's fault, and the next time it will do.
_ONCE_MORE = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.InvalidSqlStatementName,
)
#: The connection is of no use any more; what it was in the middle of is undone, or has been committed.
_BROKEN = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.IdleInTransactionSessionTimeout,
)
#: The role that the address names may not do it; no repetition helps.
_FORBIDDEN = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)


class Tx(Struct, frozen=True):
    """One open transaction. Verbs are functions of it; none commits.

    ``now`` is None in production, where the database's clock decides. ``pools`` are those in which this transaction
    has set somebody in line or given up a slot: before it ends, others are to be let in (``pools.admit``).
    ``at_end`` is called as the last of the transaction, ``after_commit`` once it has committed; ``refused`` are the
    submissions that it refuses (``refusals``).
    """

    connection: Plain
    now: datetime | None
    pools: set[str] = field(default_factory=set)
    refused: list[Refusal] = field(default_factory=list)
    at_end: set[Callable[["Tx"], None]] = field(default_factory=set)
    after_commit: set[Callable[["Tx"], None]] = field(default_factory=set)

    def rows(self, sql: str, **params: object) -> list[Row]:
        return self.connection.rows(sql, self._sent(params))

    def structs(self, kind: type[T], sql: str, **params: object) -> list[T]:
        """The rows as structs of this kind; the statement's column names are the fields."""
        rows = self.connection.named_rows(sql, self._sent(params))
        return [msgspec.convert(row, kind) for row in rows]

    def column(self, sql: str, **params: object) -> list[Any]:
        """The first column."""
        return [row[0] for row in self.rows(sql, **params)]

    def write(self, sql: str, **params: object) -> int:
        """How many rows a statement without an answer wrote."""
        return self.connection.write(sql, self._sent(params))

    def _sent(self, params: dict[str, object]) -> dict[str, object]:
        """As they go to the driver, and the time with them."""
        if isinstance(self.connection, Swift) and any(
            isinstance(value, list) and len(value) > _FEW for value in params.values()
        ):
            self.connection.rows(_READ_MANY, {})
        written = {
            name: written_array(value) if isinstance(value, list) else value for name, value in params.items()
        }
        return written | {"now": self.now}

    def take_time(self) -> None:
        """From now on it may idle for as long as it likes: users' code is at work between its statements. It finds the
        user's tables, as on a connection of its own."""
        self.connection.execute(_FOR_USERS)

    def hurry(self) -> None:
        """From now on it may not, as any other, and it finds the ledger's tables."""
        self.connection.execute(_FOR_US)

    def instant(self) -> datetime:
        """The time that this transaction's statements see."""
        moment: datetime = self.column("SELECT coalesce(%(now)s::timestamptz, clock_timestamp())")[0]
        return moment


class Ledger:
    """Where the truth is kept. ``clock`` is given by simulations and tests alone. Who is ``steady`` is a process that
    works for long."""

    def __init__(
        self,
        url: str,
        *,
        connections: int = 8,
        idle_s_max: float = IDLE_S_MAX,
        steady: bool = False,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        options = {
            "timezone": "UTC",
            # To compile a statement takes longer than any of ours takes to run (measured: 1,000 ms where that took 90).
            "jit": "off",
            "idle_in_transaction_session_timeout": math.ceil(idle_s_max * 1000),
        }
        self.url = url
        self._clock = clock
        self._also: Callable[[Tx, Any], None] | None = None
        self._asked = 0
        self._asking = Lock()
        self._pool = ConnectionPool(
            dialled(url, **options | _STEADY if steady else options),
            min_size=0,
            max_size=connections,
            timeout=PATIENCE_S,
            open=False,
            connection_class=Swift if steady else Plain,
            reconnect_timeout=1.0,
            reconnect_failed=_try_on,
        )
        self._pool.open(wait=False)

    def transact(self, work: Callable[[Tx], T]) -> T:
        """Run ``work`` in one transaction and commit it; run it again where that is known to help.

        A connection that breaks during COMMIT leaves its outcome unknown, so everything passed in
        here must be safe to repeat. Every verb is: its guard refuses what has already happened.
        """
        for last in (False,) * (TRIES - 1) + (True,):
            try:
                with self.begin() as tx:
                    found = work(tx)
                    if self._also is not None:
                        self._also(tx, found)
                    reached(Place.COMMIT_BEGINS)
                reached(Place.COMMIT_RETURNED)
                return found
            except _ONCE_MORE:
                if last:
                    raise
            except _FORBIDDEN as error:
                raise self._forbidden(error) from error
            except _BROKEN as error:
                if last or isinstance(error, PoolTimeout):
                    raise unreachable(self.url, error) from error
                self._pool.check()
        raise AssertionError("the last try returns or raises")

    def beside(self, also: Callable[[Tx, Any], None]) -> "Ledger":
        """The same ledger, and its connections; in each ``transact`` of this one ``also`` is done with what the work
        has come to, before the commit. It has to be safe to repeat, as the work is."""
        twin = copy(self)
        twin._also = also
        return twin

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        """One transaction, committed at the end of the block and never repeated: for users' own writes, which may take
        their time."""
        with self._pool.connection() as connection, connection.transaction():
            tx = self._tx(connection)
            tx.take_time()
            yield tx

    @contextmanager
    def begin(self) -> Iterator[Tx]:
        """One transaction, committed at the end of the block and never repeated. It may not stand still."""
        with self._pool.connection() as connection:
            before = connection.asked
            try:
                with connection.begun():
                    tx = self._tx(connection)
                    yield tx
                    for act in tx.at_end:
                        act(tx)
            finally:
                with self._asking:
                    self._asked += connection.asked - before
        for act in tx.after_commit:
            act(tx)

    def round_trips(self) -> int:
        """How often this process has sent something and waited for the answer, in transactions that have ended."""
        return self._asked

    def close(self) -> None:
        self._pool.close()

    def _tx(self, connection: Plain) -> Tx:
        return Tx(connection, self._clock() if self._clock else None)

    def _forbidden(self, error: Exception) -> BadSetting:
        return BadSetting(
            "The ledger does not let this role do it: " + " ".join(str(error).split()),
            where=without_password(self.url),
            advice="Use the address of a role that may; after an upgrade, run what `sluice db roles` prints once more.",
        )


def _try_on(pool: ConnectionPool[Plain]) -> None:
    """A pool that has given up connecting tries again when somebody asks anew; who waits already would do so in vain
    for a database that is back."""
    if pool.get_stats().get("requests_waiting"):
        pool.check()


def written_array(values: list[object]) -> object:
    """A list of whole numbers, of texts or of nothing as Postgres writes it. The driver does the same ten times
    slower, which would be the greater part of a large plan; other lists are left to it."""
    kinds = set(map(type, values)) - {type(None)}
    if values and kinds <= {int}:
        return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"
    if kinds == {str}:
        return "{" + ",".join("NULL" if value is None else _quoted(str(value)) for value in values) + "}"
    return values


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def arrays(rows: Sequence[Sequence[object]], *names: str) -> dict[str, list[object]]:
    """Rows as named columns, for ``unnest``."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
