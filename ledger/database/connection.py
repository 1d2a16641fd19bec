"""Access to the database: a connection pool, a transaction that may be repeated, and the clock that it reads."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import msgspec
import psycopg
from msgspec import Struct, field
from psycopg import Connection

from sluice.jobs.errors import BadSetting, Unreachable
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Refusal
from sluice.jobs.observe.failpoints import CommitPoints, Failpoint, reached
from sluice.jobs.observe.outages import OutageLog
from sluice.jobs.text.server_address import without_password
from sluice.ledger.database.connection_pool import (
    ConnectionLimits,
    ConnectionPool,
    ConnectionTurns,
    NoConnection,
)
from sluice.ledger.database.conninfo import complete, complete_for_pooler, opening, schema_of, unreachable
from sluice.ledger.database.driver import CursorConnection, PreparedConnection, Row
from sluice.ledger.database.kept_plans import SIZE, KeptPlans
from sluice.ledger.database.pooler import PooledConnection, PooledCursorConnection, PoolerSetup
from sluice.ledger.database.procedures import Procedure

T = TypeVar("T")
#: The psycopg connection in an open transaction that users' code gets for its own writes.
UserConnection = Connection[Row]

#: Maximum number of runs of a transaction. A deadlock, a serialization failure or a lost connection leads to another
#: run.
TRIES = 5
#: Seconds that a caller waits for a connection before the ledger counts as unreachable.
PATIENCE_S = 10.0
#: Seconds after which the database ends a transaction in which its process does nothing. A process that stands still
#: inside a transaction (stopped, swapped out, its machine paused) would block all others at the rows that it has
#: locked.
IDLE_S_MAX = 60.0

#: For processes that run the same statements on a few jobs over and over. Postgres would plan each statement again,
#: which takes longer than running it. The plans that it keeps must not be made for tables that were empty then. Nor may
#: they assume as many rows as the statistics suggest: if 100,000 jobs need the same parent, each statement about needs
#: would read all of them.
_LOOK_UP = {"plan_cache_mode": "force_generic_plan", "enable_mergejoin": "off", "enable_hashjoin": "off"}
_READ = {"plan_cache_mode": "force_custom_plan", "enable_mergejoin": "on", "enable_hashjoin": "on"}
#: Settings for large statements as well. There is too little work for parallel workers.
_ALWAYS = {"enable_seqscan": "off", "max_parallel_workers_per_gather": "0"}
_STEADY = _LOOK_UP | _ALWAYS
_READ_MANY = "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in _READ.items())
#: Length of an array above which a statement is planned for its actual values, and so are all later statements of the
#: transaction.
_FEW = 500

# Without "$user", because a role may have the name of the ledger's schema.
_FOR_USERS = b"SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL search_path = public"
# Not LOCAL, because users' code may have set it for longer than the transaction.
_FOR_US = b"SET LOCAL idle_in_transaction_session_timeout TO DEFAULT; RESET search_path"


class ChangedMeanwhile(Exception):
    """Another transaction has removed an old row, or cancelled a submission, that this one has read as it was before. A
    repetition of the transaction sees the change."""


#: Transient errors, after which the transaction is run again.
_ONCE_MORE = (
    ChangedMeanwhile,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.InvalidSqlStatementName,
)
#: Errors after which the connection is unusable. Its transaction was rolled back, or has been committed.
_BROKEN = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.IdleInTransactionSessionTimeout,
)
#: Errors that no repetition resolves: the role in the address may not do this.
_FORBIDDEN = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)


class Tx(Struct, frozen=True):
    """Open transaction. Verbs are functions of it; none commits.

    ``now`` is None in production, where the database's clock decides. ``pools`` are the pools in which this transaction
    has made a job wait for a slot, or has freed a slot. Waiting jobs must be admitted to them before it ends
    (``pools.admit``, which ``actors.dispatch.announce`` calls), or it is rolled back. ``at_end`` is called at the end
    of the transaction, ``after_commit`` once it has committed. ``refused`` are the submissions that it refuses
    (``requests``).
    """

    connection: CursorConnection
    now: datetime | None
    pools: set[str] = field(default_factory=set)
    seen_jobs: set[JobName] = field(default_factory=set)
    refused: list[Refusal] = field(default_factory=list)
    at_end: set[Callable[["Tx"], None]] = field(default_factory=set)
    after_commit: set[Callable[["Tx"], None]] = field(default_factory=set)

    def rows(self, sql: str, **params: object) -> list[Row]:
        return self.connection.rows(sql, self._sent(params))

    def structs(self, kind: type[T], sql: str, **params: object) -> list[T]:
        """Return the rows as structs of this kind. The names of the statement's columns are the fields."""
        rows = self.connection.named_rows(sql, self._sent(params))
        return [msgspec.convert(row, kind) for row in rows]

    def column(self, sql: str, **params: object) -> list[Any]:
        """Return the first column of the rows."""
        return [row[0] for row in self.rows(sql, **params)]

    def write(self, sql: str, **params: object) -> int:
        """Run a statement that returns no rows; return how many it wrote."""
        return self.connection.write(sql, self._sent(params))

    def call(self, procedure: Procedure, **params: object) -> list[list[msgspec.Raw]]:
        """Run a procedure; return the rows of each of its steps, each row as JSON."""
        found = procedure.collect(self.column(procedure.call, **params, is_whole=False)[0])
        if found is None:
            raise AssertionError("only a procedure that is a whole transaction rolls back")
        return found

    def _sent(self, params: dict[str, object]) -> dict[str, object]:
        """Return the values as the driver takes them, with ``now``. Switch the planning mode if an array is long."""
        if isinstance(self.connection, PreparedConnection) and any(
            isinstance(value, list) and len(value) > _FEW for value in params.values()
        ):
            self.connection.rows(_READ_MANY, {})
        written = {
            name: written_array(value) if isinstance(value, list) else value for name, value in params.items()
        }
        return written | {"now": self.now}

    def disable_idle_timeout(self) -> None:
        """Lift the idle limit, because users' code runs between the statements from now on.

        The search path changes to ``public``: the transaction finds the user's tables, like a connection of the user.
        """
        self.connection.execute(_FOR_USERS)

    def restore_idle_timeout(self) -> None:
        """Restore the idle limit, and the search path with the ledger's tables."""
        self.connection.execute(_FOR_US)

    def require_admission(self) -> None:
        """Raise AssertionError if no jobs have been admitted to the pools. A slot would stay free until the next
        tick."""
        if self.pools:
            raise AssertionError(
                f"no jobs were admitted to the pools {sorted(self.pools)}; announce does that"
            )

    def current_time(self) -> datetime:
        """Return the time that this transaction's statements see."""
        moment: datetime = self.column("SELECT coalesce(%(now)s::timestamptz, clock_timestamp())")[0]
        return moment


class Ledger:
    """Access to the ledger's database.

    Only simulations and tests pass a ``clock``. A process that works for long is ``steady``: its statements are
    prepared once, and its waits cannot be interrupted (``PreparedConnection``).

    ``connections`` is the number of connections for its transactions. Above the usual number, a transaction
    first waits for another one (``ConnectionTurns``).

    ``pooler_url`` is the address of a pooler in transaction mode before the same database. The ledger's own
    transactions go through it. Everything that needs a session goes to ``url``: LISTEN (``apart``), and transactions of
    users (``transaction``), whose code may set what it likes on its connection.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int | ConnectionLimits = 8,
        idle_s_max: float = IDLE_S_MAX,
        steady: bool = False,
        clock: Callable[[], datetime] | None = None,
        pooler_url: str | None = None,
    ) -> None:
        options: dict[str, object] = {
            "timezone": "UTC",
            # JIT compilation of a statement takes longer than any statement here (measured: 1,000 ms against 90).
            "jit": "off",
            "idle_in_transaction_session_timeout": math.ceil(idle_s_max * 1000),
        }
        self.url, self.pooler_url = url, pooler_url
        #: Outages of the database, for all components of the process that use it.
        self.outages = OutageLog(f"the ledger {without_password(pooler_url or url)}", monotonic)
        self.schema = schema_of(url)
        self._steady = steady
        self._clock = clock
        self._also: Callable[[Tx, Any], None] | None = None
        self._asked, self._asking = 0, Lock()
        self._plans = KeptPlans()
        self._steady_address = complete(url, **options | _STEADY)
        settings = options | _STEADY if steady else options
        # Users' statements are not prepared: to drop theirs, psycopg would drop all statements of the session.
        kwargs: dict[str, Any] = {"prepare_threshold": None} if steady or pooler_url else {}
        kind = PreparedConnection if steady else CursorConnection
        limits = connections if isinstance(connections, ConnectionLimits) else _alike(connections)
        self._turns = ConnectionTurns(limits)
        self._turns_of_users = ConnectionTurns(_alike(limits.most))
        connector, pool = _connector(complete(url, **settings), kind, kwargs), (limits.usual, self.outages)
        self._pool = self._direct = ConnectionPool(connector, *pool)
        if pooler_url is not None:
            kind = PooledConnection if steady else PooledCursorConnection
            setup = PoolerSetup(opening(url, **settings), where=without_password(pooler_url))
            connector = _connector(complete_for_pooler(pooler_url), kind, kwargs, setup)
            self._pool = ConnectionPool(connector, *pool)

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        """Run ``work`` in one transaction and commit it; run it again after errors that a repetition may resolve.
        ``at`` are the failpoints of this kind of transaction.

        If a connection breaks during COMMIT, the outcome is unknown. So ``work`` must be safe to repeat. Every verb is,
        because its guard refuses changes that have already happened.
        """

        def once() -> T:
            with self.begin() as tx:
                found = work(tx)
                if self._also is not None:
                    self._also(tx, found)
                _commit_begins(at)
            _commit_returned(at)
            return found

        return self._tried(once)

    def call_alone(
        self, procedure: Procedure, at: CommitPoints | None = None, **params: object
    ) -> list[list[msgspec.Raw]] | None:
        """Run a procedure as a whole transaction, in one round trip; return the rows of its steps.

        None, and nothing is written, if the transaction needs more statements. That is always so if ``may_be_alone``
        is false. ``at`` are the failpoints of this kind of transaction; a crash before the commit writes nothing.
        """
        if not self.may_be_alone:
            return None

        def once() -> list[list[msgspec.Raw]] | None:
            with self._no_transaction() as tx:
                _commit_begins(at)
                (result,) = tx.column(procedure.call, **params, is_whole=True)
                found = procedure.collect(result)
                if found is not None:
                    _commit_returned(at)
                return found

        return self._tried(once)

    def run_alone(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        """Run ``work`` as ``transact`` does. It is one statement, without long arrays, and is committed by itself.

        So the commit needs no round trip of its own, unless ``may_be_alone`` is false.
        """
        if not self.may_be_alone:
            return self.transact(work, at)

        def once() -> T:
            with self._no_transaction() as tx:
                _commit_begins(at)
                found = work(tx)
                _commit_returned(at)
                return found

        return self._tried(once)

    @property
    def may_be_alone(self) -> bool:
        """True if this process's transactions need no other statement than those of their work.

        A pooler gives each transaction a connection that has to be set up first.
        """
        return self._steady and self.pooler_url is None and self._also is None

    def _tried(self, once: Callable[[], T]) -> T:
        """Run a transaction, and run it again after errors that a repetition may resolve."""
        for last in (False,) * (TRIES - 1) + (True,):
            try:
                return once()
            except _ONCE_MORE:
                if last:
                    raise
            except _FORBIDDEN as error:
                raise self._forbidden(error) from error
            except _BROKEN as error:
                if last or isinstance(error, NoConnection):
                    raise self._unreachable(error) from error
                self._pool.check()
        raise AssertionError("the last try returns or raises")

    def beside(self, also: Callable[[Tx, Any], None]) -> "Ledger":
        """Return this ledger with the same connections, and with ``also`` as a part of each ``transact``.

        ``also`` gets the result of the work and runs before the commit. It must be safe to repeat, as the work is.
        """
        twin = copy(self)
        twin._also = also
        return twin

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        """Open a transaction for users' own writes: committed at the end of the block, never repeated, free to idle."""
        taken = self._direct.connection(self._turns_of_users, patience_s=PATIENCE_S)
        with taken as connection, connection.transaction():
            tx = self._tx(connection)
            tx.disable_idle_timeout()
            yield tx
            tx.require_admission()

    @contextmanager
    def begin(self) -> Iterator[Tx]:
        """Open a transaction that is committed at the end of the block and never repeated. It may not idle for long."""
        with self._connection() as connection:
            self._plans.renew(connection)
            before = connection.asked
            try:
                with connection.begun():
                    tx = self._tx(connection)
                    yield tx
                    for act in tx.at_end:
                        act(tx)
                    tx.require_admission()
            finally:
                self._count_trips(connection.asked - before)
        for act in tx.after_commit:
            act(tx)

    @contextmanager
    def apart(self) -> Iterator[tuple[PreparedConnection, Callable[[], Tx]]]:
        """Open a connection for one thread, which waits on it for long and cannot be interrupted.

        Yield it, and a function that returns a transaction on it. Each statement of that is committed by itself.
        """
        try:
            with PreparedConnection.connect(self._steady_address, autocommit=True) as connection:
                yield connection, lambda: self._tx(connection)
        except _FORBIDDEN as error:
            raise self._forbidden(error) from error
        except _BROKEN as error:
            raise unreachable(self.url, error, self.outages) from error

    @contextmanager
    def _no_transaction(self) -> Iterator[Tx]:
        """Take a connection on which each statement is committed by itself."""
        with self._connection() as connection:
            self._plans.renew(connection)
            before = connection.asked
            try:
                yield self._tx(connection)
            finally:
                self._count_trips(connection.asked - before)

    def drop_outdated_plans(self) -> None:
        """Have this process's plans made again if ``job`` has grown much since they were made."""
        (size,) = self.run_alone(lambda tx: tx.column(SIZE))
        self._plans.compare(size)

    def round_trips(self) -> int:
        """Return the number of this process's round trips to the database, in transactions that have ended."""
        return self._asked

    def virtual_time(self) -> datetime | None:
        """Return the time by the clock that was passed in. None in production, where the database's clock decides."""
        return self._clock() if self._clock else None

    def _count_trips(self, count: int) -> None:
        with self._asking:
            self._asked += count

    def share_outages(self, outages: OutageLog) -> None:
        """Report outages to this log, for example to that of another ledger with the same address."""
        self.outages = self._pool.outages = self._direct.outages = outages

    def close(self) -> None:
        self._pool.close()
        self._direct.close()

    def _connection(self) -> AbstractContextManager[CursorConnection]:
        """Take a connection for a transaction of the ledger."""
        return self._pool.connection(self._turns, patience_s=PATIENCE_S)

    def _tx(self, connection: CursorConnection) -> Tx:
        return Tx(connection, self.virtual_time())

    def _unreachable(self, error: Exception) -> Unreachable:
        """Return the error for the caller. The pool has reported the attempts to connect that have failed."""
        found = unreachable(self.pooler_url or self.url, error, self.outages)
        if found.needs_action or not isinstance(error, NoConnection):
            self.outages.failed(found)
        return found

    def _forbidden(self, error: Exception) -> BadSetting:
        return BadSetting(
            "The ledger does not let this role do it: " + " ".join(str(error).split()),
            where=without_password(self.url),
            advice="Use the address of a role that may; after an upgrade, run the output of `sluice db roles` again.",
        )


def _commit_begins(at: CommitPoints | None) -> None:
    if at:
        reached(at.written)
    reached(Failpoint.COMMIT_BEGINS)


def _commit_returned(at: CommitPoints | None) -> None:
    reached(Failpoint.COMMIT_RETURNED)
    if at:
        reached(at.committed)


def _alike(connections: int) -> ConnectionLimits:
    return ConnectionLimits(usual=connections, most=connections)


def _connector(
    address: str,
    kind: type[CursorConnection],
    kwargs: dict[str, Any],
    setup: Callable[[CursorConnection], None] | None = None,
) -> Callable[[], CursorConnection]:
    """Return a function that connects, and sets the connection up."""

    def connect() -> CursorConnection:
        connection = kind.connect(address, **kwargs)
        if setup is not None:
            setup(connection)
        return connection

    return connect


def written_array(values: list[object]) -> object:
    """Return a list of integers, booleans, texts or nulls as Postgres writes it, and any other list as it is.

    The driver takes ten times as long for this conversion, which would be the greater part of a large plan.
    """
    kinds = set(map(type, values)) - {type(None)}
    if values and kinds <= {int}:
        return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"
    if kinds == {bool}:
        return "{" + ",".join("NULL" if value is None else "t" if value else "f" for value in values) + "}"
    if kinds == {str}:
        return "{" + ",".join("NULL" if value is None else _quoted(str(value)) for value in values) + "}"
    return values


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def arrays(rows: Sequence[Sequence[object]], *names: str) -> dict[str, list[object]]:
    """Return rows as named columns, for ``unnest``."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
