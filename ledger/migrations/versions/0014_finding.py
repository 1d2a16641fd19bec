"""Jobs are found by their keys, and the newest of an app and a state first."""

from alembic import op

revision = "0014"
down_revision = "0013"
compatible_from = "0013"

_DDL = """
CREATE INDEX job_key ON job (key COLLATE "C", id);
DROP INDEX job_app_state;
CREATE INDEX job_app_state ON job (app, state, (id + 0));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
