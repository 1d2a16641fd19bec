"""Compensations: jobs that undo what others have done, where these belong to a saga across apps that has failed."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_DDL = """
ALTER TABLE job ADD CONSTRAINT job_undoes CHECK ((undoes IS NULL) = (undoes_claim IS NULL));
ALTER TABLE transition DROP CONSTRAINT transition_legal;
ALTER TABLE transition ADD CONSTRAINT transition_legal CHECK ((source, target) IN (('-', 'expected'), ('-', 'skipped'), ('-', 'waiting'), ('cancelled', 'waiting'), ('executed', 'cancelled'), ('executed', 'expired'), ('executed', 'failed'), ('executed', 'fatal'), ('executed', 'succeeded'), ('executed', 'waiting'), ('expected', 'skipped'), ('expected', 'succeeded'), ('expected', 'waiting'), ('expired', 'waiting'), ('failed', 'split'), ('failed', 'waiting'), ('fatal', 'waiting'), ('ready', 'cancelled'), ('ready', 'expired'), ('ready', 'running'), ('ready', 'waiting'), ('running', 'cancelled'), ('running', 'executed'), ('running', 'expired'), ('running', 'failed'), ('running', 'ready'), ('running', 'suspended'), ('running', 'timed_out'), ('running', 'waiting'), ('skipped', 'waiting'), ('succeeded', 'cancelled'), ('succeeded', 'waiting'), ('suspended', 'cancelled'), ('suspended', 'expired'), ('suspended', 'waiting'), ('timed_out', 'split'), ('timed_out', 'waiting'), ('upstream_failed', 'waiting'), ('waiting', 'cancelled'), ('waiting', 'expired'), ('waiting', 'ready'), ('waiting', 'skipped'), ('waiting', 'upstream_failed')));
"""


def upgrade() -> None:
    op.add_column(
        "job",
        sa.Column("undoes", sa.BigInteger(), comment="of a compensation: the job whose effect it undoes"),
    )
    op.add_column(
        "job",
        sa.Column("undoes_claim", sa.BigInteger(), comment="the claim under which that had succeeded"),
    )
    op.create_index("job_undoes", "job", ["undoes"], postgresql_where=sa.text("undoes IS NOT NULL"))
    op.get_bind().exec_driver_sql(_DDL)
