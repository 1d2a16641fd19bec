"""Attempts at planning, so that a submission whose planning ended three planners is refused."""

from alembic import op

revision = "0026"
down_revision = "0025"
compatible_from = "0013"

_DDL = """
CREATE TABLE plan_attempt (
    submission BIGINT NOT NULL,
    worker UUID NOT NULL,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (submission, worker)
);
CREATE INDEX plan_attempt_worker ON plan_attempt (worker);
COMMENT ON COLUMN plan_attempt.submission IS 'its number';
COMMENT ON COLUMN plan_attempt.worker IS 'the process that plans it, or died of it';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
