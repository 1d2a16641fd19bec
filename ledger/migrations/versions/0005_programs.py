"""What a round's runner had to say, and where the whole of its output is stored."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column(
        "round", sa.Column("output_blob", sa.Text, comment="the name of the blob that has the whole of it")
    )
    op.add_column("round", sa.Column("stderr_blob", sa.Text, comment="likewise"))
    op.add_column("round", sa.Column("log", sa.Text, comment="what its runner had to say, line by line"))
