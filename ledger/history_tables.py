"""Tables of the history of jobs: their claims by workers, and every step from state to state."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import UUID

from sluice.jobs.states import VERBS
from sluice.ledger.schema import metadata
from sluice.ledger.sql import one_of

_LEGAL = sorted({f"{source or '-'} {verb.target}" for verb in VERBS for source in verb.sources})

round_ = Table(
    "round",
    metadata,
    Column("job", BigInteger, primary_key=True),
    Column("claim", BigInteger, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("worker", UUID(as_uuid=True), nullable=False),
    Column("running_at", DateTime(timezone=True), nullable=False),
    Column("executed_at", DateTime(timezone=True)),
    Column("ending", Text),
    Column(
        "took_s", Double, comment="by the clock of the worker, without the wait for the rest of its parcel"
    ),
    Column("exit_code", Integer),
    Column("digest", Text, comment="of the definition that ran"),
    Column("error", Text),
    Column("output", Text),
    Column("stderr", Text),
    Column("output_blob", Text, comment="the name of the blob that has the whole of it"),
    Column("stderr_blob", Text, comment="likewise"),
    Column("log", Text, comment="what its runner had to say, line by line"),
    Column("final", Boolean, comment="the run requested that the job fails without another round"),
    Column("retry_after_s", Double, comment="the delay before the next round, if the run requested one"),
    Column("error_after_commit", Text, comment="what failed after the run had committed its own success"),
    # Partial indexes: most rounds have no blob.
    Index("round_output_blob", "output_blob", postgresql_where=text("output_blob IS NOT NULL")),
    Index("round_stderr_blob", "stderr_blob", postgresql_where=text("stderr_blob IS NOT NULL")),
)

transition = Table(
    "transition",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("job", BigInteger, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("source", Text, nullable=False, comment="- where the row was made"),
    Column("target", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("claim", BigInteger, nullable=False),
    Column("note", Text),
    CheckConstraint(one_of("source || ' ' || target", _LEGAL), name="transition_legal"),
    Index("transition_job", "job", "id"),
)
