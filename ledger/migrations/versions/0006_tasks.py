"""Tasks whose results somebody collects, and the numbers that they get."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_COLLECTED = (
    "'succeeded', 'failed', 'fatal', 'timed_out', 'expired', 'skipped', 'cancelled', 'upstream_failed'"
)


def upgrade() -> None:
    op.add_column(
        "job",
        sa.Column(
            "collect",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("false"),
            comment="once it has ended it is uncollected until somebody archives it",
        ),
    )
    op.add_column(
        "job",
        sa.Column(
            "archived_at",
            sa.DateTime(timezone=True),
            comment="when that was; what it came to stays its state",
        ),
    )
    op.create_check_constraint(
        "job_archived", "job", f"archived_at IS NULL OR collect AND state IN ({_COLLECTED})"
    )
    op.create_index(
        "job_uncollected",
        "job",
        ["app", "state", sa.text("(id + 0)")],
        postgresql_where=sa.text(f"collect AND archived_at IS NULL AND state IN ({_COLLECTED})"),
    )
    op.create_table(
        "counter",
        sa.Column("app", sa.Text(), primary_key=True),
        sa.Column(
            "last", sa.BigInteger(), nullable=False, comment="no number up to this one is given out again"
        ),
    )
