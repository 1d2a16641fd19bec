"""Submissions: their progress, and acts on them."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from sluice.actors import audit_results
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import JSON, Submission, SubmissionState
from sluice.jobs.states import State
from sluice.jobs.text.redaction import masked_kwargs, masked_policy, masked_value
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import submission_lists
from sluice.ledger.reads.state_statistics import ProgressCounts, progress_of
from sluice.ledger.reads.submission_lists import Submitted
from sluice.ledger.reads.submission_progress import (
    EXACT_MAX,
    EXACT_OF_MANY,
    PROBES,
    PROBES_OF_MANY,
    Share,
    shares,
)
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.identity.roles import Role
from sluice.ops.console.paging import Paging, write_token
from sluice.ops.console.route import CallArguments, NoParameters, Route, action
from sluice.ops.console.tenancy import Tenancy, listed
from sluice.planner.bubble_up.walk import mode_of, require_fit


class Some(Paging, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Page of submissions of this app, in these states."""

    app: str | None = None
    state: tuple[SubmissionState, ...] = ()


class ListedSubmission(Submitted, frozen=True, kw_only=True):
    """Submission and its progress."""

    progress: ProgressCounts


class WholeSubmission(ListedSubmission, frozen=True, kw_only=True):
    """Submission with its ``request`` as it was sent, without secrets. ``jobs`` counts the requested jobs by state, as
    an estimate if ``about`` is set.
    """

    request: Mapping[str, JSON]
    jobs: Mapping[State, int]
    about: bool


class Submissions(Struct, frozen=True):
    """Page of submissions. It may be short, or empty, and still have a ``next``."""

    submissions: Sequence[ListedSubmission]
    next: str | None


class Received(Struct, frozen=True):
    submission: str
    state: SubmissionState


class Retried(Struct, frozen=True):
    submission: str
    state: SubmissionState


class Cancelled(Struct, frozen=True):
    """Number of jobs that stop."""

    cancelled: int


class Paused(Struct, frozen=True):
    """Number of jobs that are held back."""

    paused: str
    held_back: int


class Resumed(Struct, frozen=True):
    """Number of jobs that continue."""

    resumed: str
    let_go: int


def submissions(console: ConsoleContext, asked: CallArguments[Some, NoParameters]) -> Submissions:
    query, before = asked.query, asked.query.before

    def read(tx: Tx) -> Submissions:
        page = submission_lists.submitted(
            tx,
            app=query.app,
            states=query.state,
            apps=asked.reach.listed,
            before=before,
            limit=query.limit,
        )
        numbers = [each.number for each in page.found]
        known = shares(tx, numbers, exact_max=EXACT_OF_MANY, probes=PROBES_OF_MANY)
        told = [ListedSubmission(**_words(each, known[each.number])) for each in page.found]
        return Submissions(told, write_token(page.next))

    return console.ask(read)


def submission(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> WholeSubmission:
    (id_,) = asked.words

    def read(tx: Tx) -> WholeSubmission | None:
        found = submission_lists.one(tx, id_)
        if found is None:
            return None
        share = shares(tx, [found.number], exact_max=EXACT_MAX, probes=PROBES)[found.number]
        request = _masked(submission_lists.request(tx, id_))
        return WholeSubmission(**_words(found, share), request=request, jobs=share.states, about=share.about)

    found = console.ask(read)
    if found is None:
        raise BadRequest(
            f"There is no submission {id_}.", advice="GET /api/submissions lists all submissions."
        )
    return found


def submit(console: ConsoleContext, asked: CallArguments[NoParameters, Submission]) -> Received:
    """Submit. The trace context may also be in the W3C header ``traceparent``."""
    wanted = asked.body
    if wanted.traceparent is None:
        wanted = replace(wanted, traceparent=asked.request.headers.get("traceparent"))
    _require_fit(console, wanted)
    client = console.doing(
        asked.who, "submit", audit_results.about_submission(wanted), audit_results.submitted
    )
    return Received(client.submit(wanted), SubmissionState.RECEIVED)


def retry(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Retried:
    (id_,) = asked.words
    console.doing(asked.who, "retry", {"submission": id_}, audit_results.retried).retry(id_)
    return Retried(id_, SubmissionState.RECEIVED)


def cancel(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Cancelled:
    (id_,) = asked.words
    client = console.doing(asked.who, "cancel", {"submission": id_}, audit_results.cancelled)
    return Cancelled(len(client.cancel(id_)))


def pause(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Paused:
    (id_,) = asked.words
    client = console.doing(asked.who, "pause", {"submission": id_}, audit_results.paused)
    return Paused(id_, client.pause(id_))


def resume(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Resumed:
    (id_,) = asked.words
    client = console.doing(asked.who, "resume", {"submission": id_}, audit_results.resumed)
    return Resumed(id_, client.resume(id_))


def _require_fit(console: ConsoleContext, wanted: Submission) -> None:
    """Raise BadRequest if the planner would refuse the policy. A branch has definitions of its own, which only the
    planner reads.
    """
    app = console.catalogue.get(wanted.app) if console.has_definitions and wanted.branch is None else None
    if app is not None:
        require_fit(app, wanted.policy, mode_of(app, wanted))


def _masked(request: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the request without secrets. Its kwargs and policy are as secret as the kwargs and the policy of its
    jobs. In a request that was inserted by SQL, either may have a wrong form.
    """
    told = {name: masked_value(each) for name, each in request.items()}
    for word, mask in (("kwargs", masked_kwargs), ("policy", masked_policy)):
        if isinstance(each := request.get(word), Mapping):
            told[word] = mask(each)
    return told


def _words(found: Submitted, share: Share) -> dict[str, Any]:
    """Return the fields of a listed submission. Its number is internal to the ledger and left out."""
    told = {each.name: getattr(found, each.name) for each in fields(Submitted)}
    return {**told, "progress": progress_of(share)}


def _apps(console: ConsoleContext, asked: CallArguments[NoParameters, Any]) -> Iterable[str]:
    found = console.ask(lambda tx: submission_lists.one(tx, asked.words[0]))
    return [] if found is None else [found.app]


def _concerned(console: ConsoleContext, asked: CallArguments[NoParameters, Submission]) -> Iterable[str]:
    """Yield the apps that a submission concerns by its own request: of jobs that run again downstream, of jobs that
    its jobs wait for, of jobs that get its events, and of a refused submission that it would replace under its id.
    Dependencies of the definitions are not among them.
    """
    wanted = asked.body
    if (id_ := wanted.id) is not None:
        known = console.ask(lambda tx: submission_lists.one(tx, id_))
        yield from [] if known is None else [known.app]
    if wanted.rerun == "downstream":
        yield from console.catalogue.below([wanted.app])
    yield from (name.app for name in wanted.after or ())
    yield from (str(rule["app"]) for rule in wanted.notify if "app" in rule)


_OF_SUBMISSION = Tenancy(apps=_apps)
_PATH = "/api/submissions"
ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        call=submissions,
        summary="Submissions, the newest first",
        answers=Submissions,
        tenancy=listed("submissions"),
        query=Some,
    ),
    Route(
        method="POST",
        path=_PATH,
        call=submit,
        summary="Submit jobs",
        answers=Received,
        body=Submission,
        role=Role.SUBMIT,
        tenancy=Tenancy(apps=lambda _, asked: [asked.body.app], also=_concerned),
        status=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/{{id}}",
        call=submission,
        summary="One submission, and its progress",
        answers=WholeSubmission,
        tenancy=_OF_SUBMISSION,
    ),
    action(
        f"{_PATH}/{{id}}/retry",
        retry,
        "Run the unsuccessful jobs of a submission again",
        answers=Retried,
        tenancy=_OF_SUBMISSION,
    ),
    action(
        f"{_PATH}/{{id}}/cancel",
        cancel,
        "Cancel a submission, and the jobs that no other submission requests",
        answers=Cancelled,
        tenancy=_OF_SUBMISSION,
    ),
    action(
        f"{_PATH}/{{id}}/pause",
        pause,
        "Pause a submission: no job starts that only it requests",
        answers=Paused,
        tenancy=_OF_SUBMISSION,
    ),
    action(
        f"{_PATH}/{{id}}/resume",
        resume,
        "Resume a paused submission",
        answers=Resumed,
        tenancy=_OF_SUBMISSION,
    ),
)
