"""The identity of an installation: brokers keep whose they are by it."""

from alembic import op

revision = "0024"
down_revision = "0023"
compatible_from = "0013"

_DDL = """
CREATE TABLE installation (
    "one" BOOLEAN PRIMARY KEY,
    id UUID NOT NULL,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT installation_one CHECK ("one")
);
COMMENT ON COLUMN installation.one IS 'there is one row';
COMMENT ON COLUMN installation.id IS 'a copy that runs beside its original needs another one';
COMMENT ON COLUMN installation.since IS 'when it was given this id';
INSERT INTO installation VALUES (true, gen_random_uuid(), clock_timestamp());
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_DDL)
