"""Each worker's definitions, so that workers that go by different ones are noticed."""

from alembic import op

revision = "0025"
down_revision = "0024"
compatible_from = "0013"

_DDL = """
ALTER TABLE worker
    ADD COLUMN catalogue TEXT,
    ADD COLUMN definitions JSONB,
    ADD COLUMN definitions_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN definitions_problem TEXT;
COMMENT ON COLUMN worker.catalogue IS 'digest of its definitions; null for a worker of an earlier version';
COMMENT ON COLUMN worker.definitions IS 'digest of each app, by name';
COMMENT ON COLUMN worker.definitions_at IS 'since when it goes by them';
COMMENT ON COLUMN worker.definitions_problem IS 'why it has not taken up a change';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
