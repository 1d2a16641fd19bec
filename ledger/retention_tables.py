"""What retention keeps: which jobs have lost their history, how far it has looked, and what is to be thrown away."""

from sqlalchemy import BigInteger, Column, DateTime, Index, Table, Text, text

from jobs.states import TERMINAL, State, sql_list
from ledger.schema import job, metadata

_ENDED = sql_list(*(state for state in State if state in TERMINAL))

#: Whether a job has ended, has a history left since, and nobody has to collect it first. One that flies is a saga that
#: could not be undone: somebody has still to deal with it.
HAS_HISTORY = (
    f"state IN ({_ENDED}) AND NOT flying AND (pruned_at IS NULL OR pruned_at <= changed_at)"
    f" AND (NOT collect OR archived_at IS NOT NULL OR state = '{State.SPLIT}')"
)

job.append_column(
    Column("pruned_at", DateTime(timezone=True), comment="what had happened to it until then was removed")
)
Index("job_prunable", job.c.changed_at, job.c.id, postgresql_where=text(HAS_HISTORY))

sweep = Table(
    "sweep",
    metadata,
    Column("name", Text, primary_key=True),
    Column("ended_at", DateTime(timezone=True), nullable=False, comment="of the last job that was looked at"),
    Column("job", BigInteger, nullable=False, comment="that one"),
    Column(
        "rests_until", DateTime(timezone=True), nullable=False, comment="until then nobody looks any further"
    ),
)

litter = Table(
    "litter",
    metadata,
    Column("blob", Text, primary_key=True, comment="of a round that was removed"),
    Column("try_at", DateTime(timezone=True), nullable=False, comment="when to throw it away"),
    Index("litter_try_at", "try_at"),
)
