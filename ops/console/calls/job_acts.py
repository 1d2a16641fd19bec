"""Acts on one job."""

from collections.abc import Iterable

from msgspec import Struct

from sluice.actors import audit_results
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON, Rerun, SubmissionState
from sluice.ledger.sagas.events import EventOutcome
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.route import CallArguments, NoParameters, action
from sluice.ops.console.tenancy import OF_APP, Tenancy
from sluice.ops.operations.archive import archive_named
from sluice.ops.operations.cancel import cancel_job
from sluice.ops.operations.rerun import again, ended_job
from sluice.ops.operations.resolve_job import meant_job

#: First part of the sender's name in a saga's record.
BY = "the console"


class Event(Struct, frozen=True, forbid_unknown_fields=True):
    """Event for a saga. Without ``event`` the saga continues, whatever it waits for. A repeated ``id`` changes
    nothing.
    """

    event: str | None = None
    payload: JSON = None
    id: str | None = None


class Heard(Struct, frozen=True, kw_only=True):
    app: str
    key: str
    event: str | None
    became: EventOutcome


class Again(Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs to run again. ``downstream`` also runs all downstream jobs again."""

    rerun: Rerun = "job"


class RetriedJobs(Struct, frozen=True, kw_only=True):
    app: str
    key: str
    submission: str
    state: SubmissionState


class JobCancelled(Struct, frozen=True, kw_only=True):
    """Number of jobs that stop, and of sagas that are undone first."""

    app: str
    key: str
    cancelled: int
    undone_first: int


class Archived(Struct, frozen=True, kw_only=True):
    archived: int


def resume(console: ConsoleContext, asked: CallArguments[NoParameters, Event]) -> Heard:
    name, said = JobName(*asked.words), asked.body
    client = console.doing(asked.who, "resume", {**_about(name), "event": said.event}, audit_results.heard)
    became = client.resume_job(name, said.event, payload=said.payload, by=f"{BY}, {asked.who}", id=said.id)
    return Heard(app=name.app, key=name.key, event=said.event, became=became)


def retry(console: ConsoleContext, asked: CallArguments[NoParameters, Again]) -> RetriedJobs:
    """Run an ended job again. The request is a submission like any other, so the job is requested by it and can be
    cancelled.
    """
    found, rerun = ended_job(console.context, console.installation, *asked.words), asked.body.rerun
    client = console.doing(
        asked.who, "retry", {**_about(found.name), "rerun": rerun}, audit_results.submitted
    )
    id_ = client.submit(again(found, rerun))
    return RetriedJobs(app=found.app, key=found.key, submission=id_, state=SubmissionState.RECEIVED)


def cancel(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> JobCancelled:
    name = meant_job(console.context, console.installation, *asked.words).name
    client = console.doing(asked.who, "cancel", _about(name), audit_results.job_cancelled(name))
    found = cancel_job(console.context, console.installation, client, *asked.words)
    return JobCancelled(app=name.app, key=name.key, cancelled=found.jobs, undone_first=found.undone)


def archive(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Archived:
    app, key = asked.words
    ledger = console.ledger_doing(asked.who, "archive", _about(JobName(app, key)), audit_results.archived)
    return Archived(archived=archive_named(console.context, console.installation, ledger, app, [key]))


def _about(name: JobName) -> dict[str, JSON]:
    return {"app": name.app, "key": name.key}


def _downstream(console: ConsoleContext, asked: CallArguments[NoParameters, Again]) -> Iterable[str]:
    return console.catalogue.below(asked.words[:1]) if asked.body.rerun == "downstream" else ()


_RETRIED = Tenancy(apps=OF_APP.apps, also=_downstream)
_PATH = "/api/jobs/{app}/{key}"
ROUTES = (
    action(
        f"{_PATH}/resume",
        resume,
        "Send a saga an event, or resume it",
        answers=Heard,
        body=Event,
        tenancy=OF_APP,
    ),
    action(
        f"{_PATH}/retry", retry, "Run an ended job again", answers=RetriedJobs, body=Again, tenancy=_RETRIED
    ),
    action(
        f"{_PATH}/cancel",
        cancel,
        "Cancel one job for all submissions that request it",
        answers=JobCancelled,
        tenancy=OF_APP,
    ),
    action(
        f"{_PATH}/archive",
        archive,
        "Mark the result of one job as collected",
        answers=Archived,
        tenancy=OF_APP,
    ),
)
