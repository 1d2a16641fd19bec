"""From what the ledger hands over with a claim to what a runner needs."""

from jobs.app import App
from jobs.catalogue import Catalogue, parse_policy
from jobs.job import Assignment, idempotency_token
from jobs.work_ids import ids_of
from ledger.claims import Claimed


def assign(catalogue: Catalogue, job: Claimed) -> Assignment:
    """BadRequest where this process's definitions do not have the app, or the key no longer fits it."""
    app: App = catalogue.app(job.app)
    return Assignment(
        name=job.name,
        ids={} if app.chunking else app.read_key(job.key),
        work_ids=None if job.work_ids is None else tuple(ids_of(job.work_ids)),
        kwargs=job.kwargs or {},
        round=job.round,
        claim=job.claim,
        token=idempotency_token(job.app, "", job.key),
        app=app,
        policy=app.policy.overridden(parse_policy(job.overrides or {})),
    )
