"""Runs the migrations on the address handed over by ``ledger.migrate``, in one transaction."""

from alembic import context
from psycopg import connect
from sqlalchemy import create_engine, pool

from ledger.tables import metadata

attributes = context.config.attributes
engine = create_engine(
    "postgresql+psycopg://",
    creator=lambda: connect(attributes["url"]),
    poolclass=pool.NullPool,
)
with engine.connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=attributes["version_table"],
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        context.run_migrations()
