"""Retention: of which jobs the history was removed, how far that has come, and blobs to throw away."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_HAS_HISTORY = (
    "state IN ('succeeded', 'failed', 'fatal', 'timed_out', 'expired', 'skipped', 'cancelled', 'upstream_failed',"
    " 'split') AND NOT flying AND (pruned_at IS NULL OR pruned_at <= changed_at)"
    " AND (NOT collect OR archived_at IS NOT NULL OR state = 'split')"
)


def upgrade() -> None:
    removed = "what had happened to it until then was removed"
    op.add_column("job", sa.Column("pruned_at", sa.DateTime(timezone=True), comment=removed))
    op.create_index("job_prunable", "job", ["changed_at", "id"], postgresql_where=sa.text(_HAS_HISTORY))
    for column in ("output_blob", "stderr_blob"):
        op.create_index(
            f"round_{column}", "round", [column], postgresql_where=sa.text(f"{column} IS NOT NULL")
        )
    _sweep()
    _litter()


def _sweep() -> None:
    op.create_table(
        "sweep",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column(
            "ended_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="of the last job that was looked at",
        ),
        sa.Column("job", sa.BigInteger(), nullable=False, comment="that one"),
        sa.Column(
            "rests_until",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="until then nobody looks any further",
        ),
    )


def _litter() -> None:
    op.create_table(
        "litter",
        sa.Column("blob", sa.Text(), primary_key=True, comment="of a round that was removed"),
        sa.Column("try_at", sa.DateTime(timezone=True), nullable=False, comment="when to throw it away"),
    )
    op.create_index("litter_try_at", "litter", ["try_at"])
