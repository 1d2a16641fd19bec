"""What the history comes to in numbers."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
# Whoever prunes has to count first what he removes, which code before this does not.
compatible_from = "0013"

# Whoever has moved a job and has not committed yet is waited for: he is counted here, or behind the place.
_HOLD = "LOCK TABLE job, transition IN SHARE MODE"
_FILL = """
INSERT INTO tally SELECT app, state, count(*), count(*) FROM job GROUP BY app, state;
INSERT INTO tally_place SELECT true, id, id, id, 0, now()
FROM (SELECT coalesce(pg_sequence_last_value('transition_id_seq'), 0) AS id) last;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_HOLD)
    op.create_table(
        "tally",
        sa.Column("app", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, primary_key=True),
        sa.Column("jobs", sa.BigInteger, nullable=False, comment="that were in the state"),
        sa.Column("entered", sa.BigInteger, nullable=False, comment="how often a job came into it"),
    )
    op.create_table(
        "tally_minute",
        sa.Column("minute", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("app", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, primary_key=True),
        sa.Column(
            "entered", sa.BigInteger, nullable=False, comment="how often a job came into it in that minute"
        ),
    )
    op.create_table(
        "tally_stay",
        sa.Column("app", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, primary_key=True),
        sa.Column(
            "bucket",
            sa.SmallInteger,
            primary_key=True,
            autoincrement=False,
            comment="how many of ledger.tallies.BUCKETS_S are shorter",
        ),
        sa.Column("stays", sa.BigInteger, nullable=False, comment="in the state, that have ended"),
        sa.Column("seconds", sa.Double, nullable=False, comment="of all of them together"),
    )
    op.create_table(
        "tally_verb",
        sa.Column("verb", sa.Text, primary_key=True),
        sa.Column("by", sa.Text, primary_key=True),
        sa.Column(
            "lost",
            sa.Text,
            primary_key=True,
            comment="why a run was taken from its worker; empty where none was",
        ),
        sa.Column("steps", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tally_place",
        sa.Column(
            "one",
            sa.Boolean,
            sa.CheckConstraint("one", name="tally_place_one"),
            primary_key=True,
            comment="there is one row",
        ),
        sa.Column(
            "counted", sa.BigInteger, nullable=False, comment="all transitions up to this id are counted"
        ),
        sa.Column(
            "settled", sa.BigInteger, nullable=False, comment="none up to this id is yet to be committed"
        ),
        sa.Column(
            "mark",
            sa.BigInteger,
            nullable=False,
            comment="the last id that was given out when that was looked at",
        ),
        sa.Column(
            "mark_xid", sa.BigInteger, nullable=False, comment="the number of the transaction that looked"
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.get_bind().exec_driver_sql(_FILL)
