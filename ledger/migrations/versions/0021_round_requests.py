"""What a run requests of its next round, and what failed after it had committed its success."""

from alembic import op

revision = "0021"
down_revision = "0020"
compatible_from = "0013"

_DDL = """
ALTER TABLE round ADD COLUMN final BOOLEAN;
ALTER TABLE round ADD COLUMN retry_after_s DOUBLE PRECISION;
ALTER TABLE round ADD COLUMN error_after_commit TEXT;
COMMENT ON COLUMN round.final IS 'the run requested that the job fails without another round';
COMMENT ON COLUMN round.retry_after_s IS 'the delay before the next round, if the run requested one';
COMMENT ON COLUMN round.error_after_commit IS 'what failed after the run had committed its own success';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
