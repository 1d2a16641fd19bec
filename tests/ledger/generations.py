"""Ledgers at earlier schemas, and the compatibility of a schema with code for an earlier schema."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from alembic.config import Config
from alembic.script import ScriptDirectory
from msgspec import Struct

from sluice.ledger.database.conninfo import SCHEMA
from sluice.ledger.schema import migrate

_COLUMNS = """
SELECT table_name || '.' || column_name, data_type, is_nullable = 'YES' OR column_default IS NOT NULL
       OR is_identity = 'YES'
FROM information_schema.columns WHERE table_schema = current_schema() AND table_name <> 'sluice_version'
"""
_RULES = """
SELECT conrelid::regclass::text || ' ' || conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND conrelid <> 0 AND contype <> 'n'
UNION ALL SELECT indrelid::regclass::text || ' ' || relname, 'unique'
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indisunique AND relnamespace = current_schema()::regnamespace
"""
_FUNCTIONS = "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"


class Shape(Struct, frozen=True):
    """Parts of a schema that code relies on. ``columns`` maps each to its type, and whether an insert may omit it."""

    columns: dict[str, tuple[str, bool]]
    rules: dict[str, str]
    functions: set[str]

    @property
    def tables(self) -> set[str]:
        return {name.partition(".")[0] for name in self.columns}


def shape(connection: psycopg.Connection[tuple[Any, ...]]) -> Shape:
    return Shape(
        columns={name: (kind, left_out) for name, kind, left_out in connection.execute(_COLUMNS)},
        rules=dict(connection.execute(_RULES).fetchall()),
        functions={name for (name,) in connection.execute(_FUNCTIONS)},
    )


def shape_at(url: str, revision: str) -> Shape:
    with ledger_at(url, revision) as made, psycopg.connect(made) as connection:
        return shape(connection)


def broken_promises(before: Shape, after: Shape) -> list[str]:
    """Return the changes that break code for ``before`` on ``after``: missing objects, and statements that fail."""
    old = before.tables
    gone = [f"{name} is gone" for name in sorted(before.columns.keys() - after.columns.keys())]
    gone += [f"{name} is gone" for name in sorted(before.functions - after.functions)]
    changed = [
        f"{name} is another"
        for name, column in sorted(before.columns.items())
        if name in after.columns
        and (after.columns[name][0] != column[0] or column[1] > after.columns[name][1])
    ]
    asked = [
        f"{name} is asked for"
        for name, (_, left_out) in sorted(after.columns.items())
        if name not in before.columns and name.partition(".")[0] in old and not left_out
    ]
    forbidden = [
        f"{name} forbids more"
        for name, text in sorted(after.rules.items())
        if name.partition(" ")[0] in old and before.rules.get(name) != text
    ]
    return gone + changed + asked + forbidden


def migrations() -> list[ModuleType]:
    """Return all migrations, from the first to the last."""
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    return [script.module for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]


@contextmanager
def database(url: str) -> Iterator[str]:
    """Create an empty database on the same server. Drop it at the end of the block."""
    name = f"sluice_test_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def ledger_at(url: str, revision: str) -> Iterator[str]:
    """Create a ledger with an earlier schema. Drop it at the end of the block."""
    with database(url) as made:
        with psycopg.connect(made, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        migrate.run_alembic(made, revision, anew=True)
        yield made
