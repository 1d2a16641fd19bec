"""Retry budgets: how many failed rounds of an app are tried again in what time."""

from alembic import op

revision = "0020"
down_revision = "0019"
compatible_from = "0013"

_DDL = """
CREATE TABLE retry_budget (
    app TEXT PRIMARY KEY,
    full_at TIMESTAMP WITH TIME ZONE NOT NULL
);
COMMENT ON COLUMN retry_budget.full_at IS 'when it is full, if nobody takes from it';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
