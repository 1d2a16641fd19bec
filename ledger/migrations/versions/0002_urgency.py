"""Urgency that is inherited, definitions that change, and work that outlives its worker."""

from alembic import op

revision = "0002"
down_revision = "0001"

_DDL = """
ALTER TABLE job ADD COLUMN urgent_by TIMESTAMP WITH TIME ZONE;
ALTER TABLE job ADD COLUMN digest TEXT;
ALTER TABLE job ADD COLUMN handle JSONB;
COMMENT ON COLUMN job.urgent_by IS 'the earliest end_before of those who wait for it; orders jobs of one priority';
COMMENT ON COLUMN job.digest IS 'of the definition that its gates come from';
COMMENT ON COLUMN job.handle IS 'where a job manager finds what it started; null: it has started nothing';
CREATE INDEX need_running ON need (parent) WHERE condition = 'running' AND settled IS NULL;
CREATE INDEX job_urgency ON job ((app COLLATE "C"), (-priority), coalesce(urgent_by, 'infinity'), id)
    WHERE state COLLATE "C" = 'ready';
ALTER TABLE round ADD COLUMN digest TEXT;
COMMENT ON COLUMN round.digest IS 'of the definition that ran';
ALTER TABLE worker ADD COLUMN threads INTEGER DEFAULT 1 NOT NULL;
COMMENT ON COLUMN worker.threads IS 'how many jobs it runs at once; 0 for one that runs none';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
