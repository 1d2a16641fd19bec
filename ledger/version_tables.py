"""The tables of definitions that are stored by content: versions of apps, and the versions that each branch has."""

from sqlalchemy import Column, DateTime, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from sluice.ledger.schema import metadata


def _moment(name: str, comment: str) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False, comment=comment)


app_version = Table(
    "app_version",
    metadata,
    Column("app", Text, primary_key=True),
    Column("version", Text, primary_key=True, comment="of what it and all that it reads from do"),
    Column(
        "code", Text, nullable=False, comment="a digest of the function that does its work; empty for none"
    ),
    Column("words", JSONB, nullable=False, comment="its definition, as it was last seen in this version"),
    _moment("seen_at", "when that was"),
)

branch = Table(
    "branch",
    metadata,
    Column("branch", Text, primary_key=True),
    Column("app", Text, primary_key=True),
    Column("version", Text, nullable=False),
)

branch_sync = Table(
    "branch_sync",
    metadata,
    Column("branch", Text, primary_key=True),
    Column("confs", JSONB, nullable=False, comment="each with the app that it ends in, by mode"),
    Column("synced_by", Text),
    _moment("synced_at", "whoever keeps its definitions reads them anew after that"),
)
