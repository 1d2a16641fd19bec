"""Submissions: how far they are, and what is done with them."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from jobs.errors import BadRequest
from jobs.masking import masked_kwargs, masked_value
from jobs.states import State
from jobs.submission import JSON, Submission, SubmissionState
from ledger.connection import Tx
from ledger.reads import submitted
from ledger.reads.shares import EXACT_MAX, EXACT_OF_MANY, PROBES, PROBES_OF_MANY, Share, shares
from ledger.reads.stirrings import Progress, progress_of
from ledger.reads.submitted import Submitted
from ops.console import deeds
from ops.console.gate import Role
from ops.console.office import Office
from ops.console.paging import Paging, write_token
from ops.console.route import Asked, Nothing, Route

#: What the audit tells of what was asked for.
_NAMING = ("id", "app", "key", "start", "end", "mode", "branch", "rerun")


class Some(Paging, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of this app, and in one of these states."""

    app: str | None = None
    state: tuple[SubmissionState, ...] = ()


class ListedSubmission(Submitted, frozen=True, kw_only=True):
    """With how far it is."""

    progress: Progress


class WholeSubmission(ListedSubmission, frozen=True, kw_only=True):
    """``request`` is what was sent; ``jobs`` counts those it wants by state, by estimate where that is ``about``."""

    request: Mapping[str, JSON]
    jobs: Mapping[State, int]
    about: bool


class Submissions(Struct, frozen=True):
    """A page may be short, or empty, and still have a ``next``."""

    submissions: Sequence[ListedSubmission]
    next: str | None


class Received(Struct, frozen=True):
    submission: str
    state: SubmissionState


class Retried(Struct, frozen=True):
    submission: str
    state: SubmissionState


class Cancelled(Struct, frozen=True):
    """So many jobs stop."""

    cancelled: int


class Paused(Struct, frozen=True):
    """So many jobs are held back."""

    paused: str
    held_back: int


class Resumed(Struct, frozen=True):
    """So many jobs go on."""

    resumed: str
    let_go: int


def submissions(office: Office, asked: Asked[Some, Nothing]) -> Submissions:
    query, before = asked.query, asked.query.before

    def read(tx: Tx) -> Submissions:
        page = submitted.submitted(tx, app=query.app, states=query.state, before=before, limit=query.limit)
        numbers = [each.number for each in page.found]
        known = shares(tx, numbers, exact_max=EXACT_OF_MANY, probes=PROBES_OF_MANY)
        told = [ListedSubmission(**_words(each, known[each.number])) for each in page.found]
        return Submissions(told, write_token(page.next))

    return office.ask(read)


def submission(office: Office, asked: Asked[Nothing, Nothing]) -> WholeSubmission:
    (id_,) = asked.words

    def read(tx: Tx) -> WholeSubmission | None:
        found = submitted.one(tx, id_)
        if found is None:
            return None
        share = shares(tx, [found.number], exact_max=EXACT_MAX, probes=PROBES)[found.number]
        request = _masked(submitted.request(tx, id_))
        return WholeSubmission(**_words(found, share), request=request, jobs=share.states, about=share.about)

    found = office.ask(read)
    if found is None:
        raise BadRequest(f"There is no submission {id_}.", advice="GET /api/submissions lists what there is.")
    return found


def submit(office: Office, asked: Asked[Nothing, Submission]) -> Received:
    """Where it belongs in a trace may stand in the header that W3C has for it."""
    wanted = asked.body
    if wanted.traceparent is None:
        wanted = replace(wanted, traceparent=asked.request.headers.get("traceparent"))
    about = {word: getattr(wanted, word) for word in _NAMING if getattr(wanted, word) is not None}
    client = office.doing(asked.who, "submit", about, deeds.submitted)
    return Received(client.submit(wanted), SubmissionState.RECEIVED)


def retry(office: Office, asked: Asked[Nothing, Nothing]) -> Retried:
    (id_,) = asked.words
    office.doing(asked.who, "retry", {"submission": id_}, deeds.retried).retry(id_)
    return Retried(id_, SubmissionState.RECEIVED)


def cancel(office: Office, asked: Asked[Nothing, Nothing]) -> Cancelled:
    (id_,) = asked.words
    client = office.doing(asked.who, "cancel", {"submission": id_}, deeds.cancelled)
    return Cancelled(len(client.cancel(id_)))


def pause(office: Office, asked: Asked[Nothing, Nothing]) -> Paused:
    (id_,) = asked.words
    client = office.doing(asked.who, "pause", {"submission": id_}, deeds.paused)
    return Paused(id_, client.pause(id_))


def resume(office: Office, asked: Asked[Nothing, Nothing]) -> Resumed:
    (id_,) = asked.words
    client = office.doing(asked.who, "resume", {"submission": id_}, deeds.resumed)
    return Resumed(id_, client.resume(id_))


def _masked(request: Mapping[str, JSON]) -> dict[str, JSON]:
    """Its kwargs are those of its jobs, and as secret. What came by SQL need not have written them as such."""
    told = {name: masked_value(each) for name, each in request.items()}
    kwargs = request.get("kwargs")
    return {**told, "kwargs": masked_kwargs(kwargs)} if isinstance(kwargs, Mapping) else told


def _words(found: Submitted, share: Share) -> dict[str, Any]:
    """Of a listed one; nobody but the ledger has to know its number."""
    told = {each.name: getattr(found, each.name) for each in fields(Submitted)}
    return {**told, "progress": progress_of(share)}


_PATH = "/api/submissions"
ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        call=submissions,
        summary="Submissions, the newest first",
        answers=Submissions,
        query=Some,
    ),
    Route(
        method="POST",
        path=_PATH,
        call=submit,
        summary="Ask for jobs",
        answers=Received,
        body=Submission,
        role=Role.OPERATE,
        status=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/{{id}}",
        call=submission,
        summary="One submission, and how far it is",
        answers=WholeSubmission,
    ),
    Route(
        method="POST",
        path=f"{_PATH}/{{id}}/retry",
        call=retry,
        summary="Run the unsuccessful jobs of a submission again",
        answers=Retried,
        role=Role.OPERATE,
    ),
    Route(
        method="POST",
        path=f"{_PATH}/{{id}}/cancel",
        call=cancel,
        summary="Stop a submission, and what nobody else wants",
        answers=Cancelled,
        role=Role.OPERATE,
    ),
    Route(
        method="POST",
        path=f"{_PATH}/{{id}}/pause",
        call=pause,
        summary="Begin nothing more that it alone wants",
        answers=Paused,
        role=Role.OPERATE,
    ),
    Route(
        method="POST",
        path=f"{_PATH}/{{id}}/resume",
        call=resume,
        summary="Let a submission that is paused go on",
        answers=Resumed,
        role=Role.OPERATE,
    ),
)
