"""Of jobs that are equally urgent, those that were due first are taken first."""

from alembic import op

revision = "0008"
down_revision = "0007"

_DDL = """
DROP INDEX job_urgency;
CREATE INDEX job_urgency
    ON job ((app COLLATE "C"), (-priority), coalesce(urgent_by, 'infinity'), coalesce(not_before, created_at), id)
    WHERE state COLLATE "C" = 'ready';
CREATE INDEX job_start ON job ((app COLLATE "C"), (-priority), coalesce(urgent_by, 'infinity'), not_before, id)
    WHERE state COLLATE "C" = 'ready' AND not_before IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
