"""Sagas: journals of flights, events that end their waits, and what becomes of a flight that is called off."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"

_FLYING = "'waiting', 'ready', 'running', 'suspended', 'executed', 'fatal'"
_TRANSITIONS = """
ALTER TABLE transition DROP CONSTRAINT transition_legal;
ALTER TABLE transition ADD CONSTRAINT transition_legal CHECK ((source, target) IN (('-', 'expected'), ('-', 'skipped'), ('-', 'waiting'), ('cancelled', 'waiting'), ('executed', 'cancelled'), ('executed', 'expired'), ('executed', 'failed'), ('executed', 'fatal'), ('executed', 'succeeded'), ('executed', 'waiting'), ('expected', 'skipped'), ('expected', 'succeeded'), ('expected', 'waiting'), ('expired', 'waiting'), ('failed', 'split'), ('failed', 'waiting'), ('fatal', 'waiting'), ('ready', 'cancelled'), ('ready', 'expired'), ('ready', 'running'), ('ready', 'waiting'), ('running', 'cancelled'), ('running', 'executed'), ('running', 'expired'), ('running', 'failed'), ('running', 'ready'), ('running', 'suspended'), ('running', 'timed_out'), ('running', 'waiting'), ('skipped', 'waiting'), ('succeeded', 'waiting'), ('suspended', 'cancelled'), ('suspended', 'expired'), ('suspended', 'waiting'), ('timed_out', 'split'), ('timed_out', 'waiting'), ('upstream_failed', 'waiting'), ('waiting', 'cancelled'), ('waiting', 'expired'), ('waiting', 'ready'), ('waiting', 'skipped'), ('waiting', 'upstream_failed')));
"""


def upgrade() -> None:
    _job()
    _step()
    _event()
    _early()
    _meter()
    op.get_bind().exec_driver_sql(_TRANSITIONS)


def _job() -> None:
    flight = "of a saga: which flight this is"
    flying = "a flight of a saga that has begun: it goes on, or is undone"
    turn_back = "why that is to be undone though nothing has failed"
    op.add_column(
        "job", sa.Column("flight", sa.Integer(), nullable=False, server_default="0", comment=flight)
    )
    op.add_column(
        "job",
        sa.Column("flying", sa.Boolean(), nullable=False, server_default=sa.text("false"), comment=flying),
    )
    took_off = "of a saga: the claim by which its flight began"
    op.add_column("job", sa.Column("took_off", sa.BigInteger(), comment=took_off))
    op.add_column("job", sa.Column("turn_back", sa.Text(), comment=turn_back))
    op.alter_column(
        "job",
        "event",
        comment="of one that is suspended: what it waits for; null: for anybody to resume it",
    )
    op.create_check_constraint("job_flying", "job", f"NOT flying OR open AND state IN ({_FLYING})")
    op.create_index(
        "job_suspended",
        "job",
        ["not_before"],
        postgresql_where=sa.text("state = 'suspended' AND not_before IS NOT NULL"),
    )


def _step() -> None:
    op.create_table(
        "step",
        sa.Column("job", sa.BigInteger(), primary_key=True),
        sa.Column("flight", sa.Integer(), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True, comment="from 1 on, without gaps"),
        sa.Column("claim", sa.BigInteger(), nullable=False, comment="under which it was written"),
        sa.Column("step", sa.Integer(), nullable=False, comment="its index"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False, comment="of how many it was one"),
        sa.Column("direction", sa.Text(), nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.Column("working", postgresql.JSON(), nullable=False, comment="the whole of the working map"),
        sa.Column("awaits", postgresql.JSONB(), comment="what the next step waits for"),
        sa.Column("event", sa.BigInteger(), comment="the one that has ended a wait"),
        sa.Column("failure", postgresql.JSONB(), comment="of a switch to undo, or of an undo"),
        sa.Column("note", sa.Text()),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("seq > 0", name="step_seq"),
        sa.CheckConstraint("direction IN ('do', 'switch', 'undo')", name="step_direction"),
        sa.CheckConstraint(
            "mark IN ('done', 'again', 'awaits', 'came', 'dismal', 'forced')", name="step_mark"
        ),
        sa.CheckConstraint("(mark = 'awaits') = (awaits IS NOT NULL)", name="step_awaits"),
    )
    op.create_index(
        "step_event", "step", ["event"], unique=True, postgresql_where=sa.text("event IS NOT NULL")
    )


def _event() -> None:
    op.create_table(
        "event",
        sa.Column("id", sa.BigInteger(), sa.Identity(), primary_key=True),
        sa.Column("job", sa.BigInteger(), nullable=False),
        sa.Column("flight", sa.Integer(), nullable=False, comment="the one that it came for"),
        sa.Column("token", sa.Text(), nullable=False, comment="whoever says it twice is heard once"),
        sa.Column("name", sa.Text(), comment="null: that it goes on, whatever it waits for"),
        sa.Column("payload", postgresql.JSONB()),
        sa.Column("by", sa.Text(), comment="who said it"),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("event_flight", "event", ["job", "flight"])
    op.create_index("event_token", "event", ["job", "token"], unique=True)


def _early() -> None:
    op.create_table(
        "early",
        sa.Column("id", sa.BigInteger(), sa.Identity(), primary_key=True),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False, comment="of a job that was not there yet"),
        sa.Column("token", sa.Text(), nullable=False, comment="whoever says it twice is heard once"),
        sa.Column("name", sa.Text(), comment="null: that it goes on, whatever it waits for"),
        sa.Column("payload", postgresql.JSONB()),
        sa.Column("by", sa.Text(), comment="who said it"),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("early_token", "early", ["app", "key", "token"], unique=True)


def _meter() -> None:
    op.create_table(
        "meter",
        sa.Column("job", sa.BigInteger(), primary_key=True),
        sa.Column("flight", sa.Integer(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger()),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
