"""Success of a job that its own code records, in a transaction of the user.

``job.succeed_in(connection)`` does that on any connection to the ledger's database. ``job.transaction()`` does it on a
connection that the worker opens. Both call the function ``succeed`` of the ledger, which writes the success under the
claim of the run. So the success and the user's writes are committed together, or neither is:

- A run that does not hold its job any more cannot commit: the function fails, and with it the transaction.
- Outside a transaction, the success would be committed by itself. The function compares the ID of its transaction with
  that of the statement before, and fails if they differ.
- A crash before the commit leaves the job running, and its lease ends. After the commit the job is ``executed``, and a
  planner judges it.

The statements have no parameters, because each driver writes these in its own way. This module imports no driver.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from msgspec import Struct

from sluice.jobs.errors import BadRequest

_TRANSACTION = "SELECT pg_current_xact_id()::text"
_ANY = "SELECT 1"


class OwnSuccess(Struct, frozen=True, kw_only=True):
    """Right of a run to record the success of its job. It is plain data, so it can be sent to another process.

    ``worker`` is the secret ID of the worker, without which no other session can use the function. ``at`` is the time
    of the success in virtual time. Without a ``schema`` there is no ledger, and nothing is recorded: for tests.
    """

    job: int = 0
    claim: int = 0
    worker: str = ""
    schema: str = ""
    at: datetime | None = None

    def record(self, connection: Any, output: str, expansions: str | None = None) -> int:
        """Record the success, with the output so far and the jobs that it adds (``jobs.expansions``). Return the ID of
        the transaction, which must be committed."""
        run = _statements_of(connection)
        try:
            if not self.schema:
                run(_ANY)
                return 0
            transaction = int(run(_TRANSACTION))
            run(self._statement(transaction, output, expansions))
        except BadRequest:
            raise
        except Exception as error:
            error.add_note("job.succeed_in() needs an open transaction of the ledger's own database.")
            raise
        return transaction

    def _statement(self, transaction: int, output: str, expansions: str | None) -> str:
        written = _literal(output.replace(chr(0), ""))
        added = "NULL" if expansions is None else f"{_literal(expansions)}::jsonb"
        at = "NULL" if self.at is None else f"'{self.at.isoformat()}'"
        right = f"{self.job}, {self.claim}, '{self.worker}'"
        return f"SELECT {self.schema}.succeed({right}, '{transaction}', {written}, {at}, {added})"


def _literal(text: str) -> str:
    """Return SQL for a text. Hexadecimal digits need no quoting, with any driver and any settings of the session."""
    return f"convert_from(decode('{text.encode().hex()}', 'hex'), 'UTF8')"


@contextmanager
def rehearsed_transaction(connection: Any) -> Iterator[Any]:
    """Yield the connection of a test. Commit at the end of the block, or roll back after an error.

    With psycopg, the block is a savepoint if the test has an open transaction.
    """
    if hasattr(connection, "transaction"):
        with connection.transaction():
            yield connection
        return
    try:
        yield connection
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _statements_of(connection: Any) -> Callable[[str], str]:
    """Return a function that runs a statement on this connection and returns its only value, as a text."""
    if hasattr(connection, "run_sync"):
        raise _unusable(connection)
    if hasattr(connection, "get_bind") and callable(getattr(connection, "connection", None)):
        connection = connection.connection()  # of a session of SQLAlchemy
    if hasattr(connection, "exec_driver_sql"):
        return lambda statement: str(connection.exec_driver_sql(statement).scalar_one())
    if not hasattr(connection, "cursor"):
        raise _unusable(connection)

    def run(statement: str) -> str:
        cursor = connection.cursor()
        try:
            answer = cursor.execute(statement)
            if inspect.iscoroutine(answer):
                answer.close()
                raise _unusable(connection)
            return _only_value(cursor.fetchone())
        finally:
            closed = cursor.close()
            if inspect.iscoroutine(closed):
                closed.close()

    return run


def _unusable(connection: Any) -> BadRequest:
    what = f"job.succeed_in() cannot use {type(connection).__name__}"
    if hasattr(connection, "run_sync"):
        return BadRequest(f"{what}: write `await session.run_sync(job.succeed_in)`.")
    return BadRequest(f"{what}: pass a connection of a DB-API driver, of SQLAlchemy or of Django.")


def _only_value(row: Any) -> str:
    """Return the value of a row with one column. The row is of the type that the user has set for the connection."""
    if isinstance(row, Mapping):
        row = next(iter(row.values()))
    return str(row if isinstance(row, str | int) else row[0])
