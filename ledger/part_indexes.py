"""Indexes of the few that a screen shows of many: sagas that are under way, and submissions that did not end well."""

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
