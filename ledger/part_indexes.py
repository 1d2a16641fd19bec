"""Partial indexes for screens that list few rows of large tables: sagas in progress, and submissions that ended
badly."""

from sqlalchemy import Index, text

from sluice.jobs.submission import UNFORTUNATE
from sluice.ledger.schema import job, submission

_UNFORTUNATE = ", ".join(f"'{state}'" for state in UNFORTUNATE)

Index("job_flights", job.c.id, postgresql_where=text("flying"))
Index(
    "submission_unfortunate",
    submission.c.number,
    postgresql_where=text(f"state IN ({_UNFORTUNATE})"),
)
