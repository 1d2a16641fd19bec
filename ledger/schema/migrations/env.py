"""Runs the migrations on the address handed over by ``ledger.schema.migrate``: all of a new ledger in one transaction, else
each in its own. With each goes who may still work on what it leaves."""

from alembic import context
from alembic.runtime.migration import MigrationContext, MigrationInfo
from psycopg import connect
from sqlalchemy import create_engine, pool, text

from sluice.ledger.database.conninfo import complete
from sluice.ledger.schema.tables import metadata

attributes = context.config.attributes
engine = create_engine(
    "postgresql+psycopg://",
    creator=lambda: connect(complete(attributes["url"])),
    poolclass=pool.NullPool,
)


def say_who_may_work(ctx: MigrationContext, step: MigrationInfo, **_: object) -> None:
    """In the migration's own transaction."""
    made = step.up_revision_id
    if made is None or ctx.connection is None:
        return
    said = text(f"UPDATE {attributes['version_table']} SET compatible_from = :oldest")
    ctx.connection.execute(said, {"oldest": context.script.get_revision(made).module.compatible_from})


with engine.connect() as connection:
    if attributes["follow"] is not None:
        attributes["follow"](connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
    connection.execute(text(f"SET lock_timeout = {round(attributes['lock_s'] * 1000)}"))
    # A limit of the role would end a long migration, and each attempt after it.
    connection.execute(text("SET statement_timeout = 0"))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=attributes["version_table"],
        transaction_per_migration=not attributes["anew"],
        on_version_apply=say_who_may_work,  # type: ignore[arg-type]  # it is called by names alone
    )
    with context.begin_transaction():
        context.run_migrations()
