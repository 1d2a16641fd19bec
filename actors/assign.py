"""From what the ledger hands over with a claim to what a runner needs."""

from jobs.app import App
from jobs.catalogue import Catalogue, parse_policy
from jobs.job import Assignment, idempotency_token
from ledger.claims import Claimed


def assign(catalogue: Catalogue, job: Claimed) -> Assignment:
    """BadRequest where this process's definitions do not have the app, or the key no longer fits it."""
    app: App = catalogue.app(job.app)
    return Assignment(
        name=job.name,
        ids=app.read_key(job.key),
        kwargs=job.kwargs or {},
        round=job.round,
        claim=job.claim,
        token=idempotency_token(job.app, "", job.key),
        app=app,
        policy=app.policy.overridden(parse_policy(job.overrides or {})),
    )
