"""Jobs that are counted in pools, and wait in line for a slot."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_RUNS = "state IN ('ready', 'running')"
_IN_LINE = "state = 'waiting' AND open AND NOT paused"


def upgrade() -> None:
    op.add_column(
        "job",
        sa.Column(
            "pool", sa.Text(), comment="of which no more than a number may be ready or running; null: of none"
        ),
    )
    op.add_column(
        "job",
        sa.Column("pool_limit", sa.Integer(), comment="that number, as this job was planned with it"),
    )
    op.add_column(
        "job",
        sa.Column(
            "queued",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("false"),
            comment="it may run, and waits for a slot of its pool",
        ),
    )
    op.create_check_constraint("job_pool", "job", "(pool IS NULL) = (pool_limit IS NULL) AND pool_limit > 0")
    op.create_check_constraint("job_queued", "job", f"NOT queued OR {_IN_LINE} AND pool IS NOT NULL")
    op.drop_index("job_due", "job")
    op.create_index("job_due", "job", ["not_before"], postgresql_where=sa.text(f"{_IN_LINE} AND NOT queued"))
    op.create_index("job_slot", "job", ["pool"], postgresql_where=sa.text(f"pool IS NOT NULL AND {_RUNS}"))
    op.create_index(
        "job_queue",
        "job",
        [
            "pool",
            "pool_limit",
            sa.text("(-priority)"),
            sa.text("coalesce(urgent_by, 'infinity')"),
            sa.text("coalesce(not_before, created_at)"),
            "id",
        ],
        postgresql_where=sa.text("queued"),
    )
