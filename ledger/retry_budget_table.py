"""The table of the remaining retry budgets of apps."""

from sqlalchemy import Column, DateTime, Table, Text

from sluice.ledger.schema import metadata

retry_budget = Table(
    "retry_budget",
    metadata,
    Column("app", Text, primary_key=True),
    Column(
        "full_at", DateTime(timezone=True), nullable=False, comment="when it is full, if nobody takes from it"
    ),
)
