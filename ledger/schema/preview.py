"""SQL of the migrations that an upgrade would run. Nothing is changed.

The migrations run without a transaction of the ledger: Alembic writes their operations as text, and so does the
connection that they get from Alembic. A migration may also read, for example the name of its schema. Such a SELECT is
executed, in a session in which the database refuses all changes. The schema may not exist yet, so its name is put into
the SELECT.
"""

import re
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from typing import Any

import psycopg
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from msgspec import Struct

from sluice.ledger.database.conninfo import complete, schema_of
from sluice.ledger.schema import migrate

_BODY = re.compile(r"\$(\w*)\$.*?\$\1\$", re.DOTALL)
_KIND = re.compile(
    r"^((?:CREATE|DROP) (?:OR REPLACE )?(?:UNIQUE )?\w+|ALTER \w+|INSERT|UPDATE|DELETE|LOCK)\b", re.MULTILINE
)
_READS = re.compile(r"\s*SELECT\b", re.IGNORECASE)


class PendingMigration(Struct, frozen=True):
    """Migration that an upgrade would run. Code that was written for ``compatible_from`` or a later schema may go on
    working after it.
    """

    revision: str
    title: str
    compatible_from: str
    sql: str

    @property
    def summary(self) -> str:
        """The kinds of its statements with their numbers. Bodies of functions do not count."""
        kinds = Counter(" ".join(kind.split()) for kind in _KIND.findall(_BODY.sub("", self.sql)))
        return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "no statements"


def preview(url: str) -> list[PendingMigration]:
    """Return the missing migrations in order. SchemaMismatch if the ledger is newer than this code, BadSetting if the
    role may not read it.
    """
    with migrate.refusals_shown(url):
        found = migrate.schema(url)
        migrate.require_no_newer(url, found)
        address = complete(url, default_transaction_read_only="on")
        with psycopg.connect(address, autocommit=True) as connection:
            return [
                PendingMigration(
                    revision=script.revision,
                    title=script.doc,
                    compatible_from=script.module.compatible_from,
                    sql=_sql(script.module, connection, schema_of(url)),
                )
                for script in migrate.missing(found)
            ]


def _sql(module: Any, connection: psycopg.Connection[Any], schema: str) -> str:
    written = StringIO()
    context = MigrationContext.configure(
        dialect_name="postgresql",
        dialect_opts={"paramstyle": "named"},  # With others, percent signs are doubled.
        opts={"as_sql": True, "output_buffer": written},
    )
    context.impl.connection = _WrittenConnection(written, connection, schema)  # type: ignore[assignment]  # it has what migrations use
    with Operations.context(context):
        module.upgrade()
    return written.getvalue()


class _WrittenConnection:
    """Connection of a migration that writes statements as text, and executes only statements that read."""

    def __init__(self, written: StringIO, connection: psycopg.Connection[Any], schema: str) -> None:
        self._written = written
        self._connection = connection
        self._schema = schema

    def exec_driver_sql(self, statement: str, parameters: Sequence[object] = ()) -> "_FetchedRows":
        if _READS.match(statement):
            named = statement.replace("current_schema()", f"'{self._schema}'::name")
            return _FetchedRows(self._connection.execute(named.encode(), parameters).fetchall())
        self._written.write(statement.replace("%%", "%").strip() + "\n\n")
        return _FetchedRows([])


class _FetchedRows:
    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def scalar_one(self) -> Any:
        [(value,)] = self._rows
        return value

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows
