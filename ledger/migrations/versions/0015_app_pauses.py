"""The apps whose jobs nobody begins for now."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
compatible_from = "0013"


def upgrade() -> None:
    op.create_table(
        "app_pause",
        sa.Column("app", sa.Text, primary_key=True),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text, comment="who has paused it, where that is known"),
    )
