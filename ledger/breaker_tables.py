"""Tables of the apps' breakers, and of ended rounds that they have not counted yet."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Double, Identity, Integer, Table, Text

from sluice.ledger.schema import metadata

breaker = Table(
    "breaker",
    metadata,
    Column("app", Text, primary_key=True),
    Column("fails_max", Integer, nullable=False, comment="so many failed rounds in a row open it"),
    Column("pause_s", Double, nullable=False, comment="how long its first pause lasts"),
    Column("pause_s_max", Double, nullable=False, comment="how long any of them lasts at the most"),
    Column("fails", Integer, nullable=False, comment="in a row, as far as they are counted"),
    CheckConstraint("fails >= 0 AND fails < fails_max", name="breaker_fails"),
)

breaker_news = Table(
    "breaker_news",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("app", Text, nullable=False),
    Column("failed", Integer, nullable=False, comment="rounds that one transaction has ended so"),
    Column("succeeded", Integer, nullable=False, comment="likewise"),
    Column("error", Text, comment="the beginning of what one of the failed ones said"),
)
