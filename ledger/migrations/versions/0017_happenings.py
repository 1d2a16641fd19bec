"""What leaves no row behind is counted: refusals, repairs of hints, and what each process does all the time."""

from alembic import op

revision = "0017"
down_revision = "0016"
compatible_from = "0013"

_DDL = """
CREATE TABLE happening (
    what TEXT NOT NULL,
    kind TEXT NOT NULL,
    times BIGINT NOT NULL,
    PRIMARY KEY (what, kind)
);
COMMENT ON COLUMN happening.kind IS 'which of several; empty where there is one';
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
