"""Sagas that are in progress or could not be undone, and acts on sagas with a failed undo."""

from collections.abc import Sequence

from msgspec import Struct, convert

from sluice.actors import audit_results
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.reads.saga_details import SagaLine, open_sagas
from sluice.ops.console.calls.job_acts import BY, RetriedJobs
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.paging import Paging, write_token
from sluice.ops.console.route import CallArguments, NoParameters, Route, action
from sluice.ops.console.tenancy import OF_APP, listed
from sluice.ops.operations.sagas import failed_undo, fatal_saga


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """Description of the work that was done by hand. It is kept in the journal."""

    note: str | None = None


class Forced(Struct, frozen=True, kw_only=True):
    """Step with an undo that now counts as done, and the submission that continues the saga."""

    app: str
    key: str
    step: int
    name: str
    submission: str


class Sagas(Struct, frozen=True):
    sagas: Sequence[SagaLine]
    next: str | None


def sagas(console: ConsoleContext, asked: CallArguments[Paging, NoParameters]) -> Sagas:
    before, limit = asked.query.before, asked.query.limit
    found = console.ask(lambda tx: open_sagas(tx, before=before, limit=limit))
    told = convert(found, list[SagaLine], from_attributes=True)
    return Sagas(told, write_token(found[-1].id) if len(found) == limit else None)


def force_done(console: ConsoleContext, asked: CallArguments[NoParameters, Note]) -> Forced:
    found, line = failed_undo(console.context, console.installation, *asked.words)
    name, note = found.job.name, asked.body.note
    about = {"app": name.app, "key": name.key, "note": note}
    client = console.doing(asked.who, "saga force-done", about, audit_results.forced(line.name))
    submission = client.force_done(name, by=f"{BY}, {asked.who}", note=note)
    return Forced(app=name.app, key=name.key, step=line.step, name=line.name, submission=submission)


def retry_undo(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> RetriedJobs:
    """Try a failed undo again. The request is a submission like any other, so the saga is requested by it and can be
    followed to its end.
    """
    job = fatal_saga(console.context, console.installation, *asked.words).job
    about = {"app": job.app, "key": job.key}
    client = console.doing(asked.who, "saga retry-undo", about, audit_results.submitted)
    id_ = client.submit(Submission(app=job.app, key=job.key, rerun="job"))
    return RetriedJobs(app=job.app, key=job.key, submission=id_, state=SubmissionState.RECEIVED)


_PATH = "/api/sagas/{app}/{key}"
ROUTES = (
    Route(
        method="GET",
        path="/api/sagas",
        call=sagas,
        summary="Sagas that are running, waiting, or could not be undone",
        answers=Sagas,
        tenancy=listed("sagas"),
        query=Paging,
    ),
    action(
        f"{_PATH}/force-done",
        force_done,
        "Treat a failed undo as done by hand, and continue with the step before it",
        answers=Forced,
        tenancy=OF_APP,
        body=Note,
    ),
    action(f"{_PATH}/retry-undo", retry_undo, "Try a failed undo again", answers=RetriedJobs, tenancy=OF_APP),
)
