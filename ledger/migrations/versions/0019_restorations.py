"""A ledger says whose code may work on it, and above which numbers it goes on after it was restored."""

from alembic import op

revision = "0019"
down_revision = "0018"
compatible_from = "0013"

_DDL = """
ALTER TABLE sluice_version ADD COLUMN compatible_from TEXT;
COMMENT ON COLUMN sluice_version.compatible_from IS 'the oldest schema whose code may work on this one';
CREATE TABLE restoration (
    above BIGINT PRIMARY KEY,
    at TIMESTAMP WITH TIME ZONE NOT NULL
);
COMMENT ON COLUMN restoration.above IS 'no number up to this one is given out again';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
