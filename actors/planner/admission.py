"""Admission of submissions, from messages and from programs.

Each submission of a message is admitted or refused by itself, and a refused one is stored (``admit``). A message may be
delivered twice. Its rows are then neither admitted, refused, counted nor logged again.

``sound`` checks a program's submissions before the ledger admits them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid4, uuid5

import msgspec

from sluice.jobs.catalogue import Catalogue, parse_policy
from sluice.jobs.catalogue.sources.python_options import declarative_policy
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.request_limits import DEPTH_MAX, ID_LENGTH_MAX, is_deeper, oversized, unfit
from sluice.jobs.model.submission import COMPENSATION, JSON, SCHEDULED, Submission, conflict, is_reserved
from sluice.jobs.observe.failpoints import TransactionKind
from sluice.jobs.runners.function.call import FunctionCall
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import submissions
from sluice.ledger.stats import audit
from sluice.planner.bubble_up.walk import require_fit

#: Greatest number of submissions that an entry of the audit names: 20. A message may have thousands.
NAMED_MAX = 20


class _Read(NamedTuple):
    """A row of a message. ``name`` is the id that the message gives it. If it is refused, ``submission`` is a stand-in
    with the fields that could be read."""

    name: str
    submission: Submission
    reason: str


def admit(
    ledger: Ledger, rows: Iterable[tuple[str, msgspec.Raw]], *, signed_by: str | None = None
) -> list[Submission]:
    """Admit or refuse each row, and return the admitted submissions. Each row comes with the id that it gets if it
    names none. If a key has signed the message, the audit has an entry for the new submissions with the id of the key.

    Sound rows are processed first, so that a faulty row cannot take the id of a sound one.
    """
    read = sorted((_read(_fitting(name), raw) for name, raw in rows), key=lambda row: bool(row.reason))

    conflicts = ledger.transact(lambda tx: _admit(tx, read, signed_by), TransactionKind.SUBMIT)
    return [row.submission for place, row in enumerate(read) if not row.reason and place not in conflicts]


def _admit(tx: Tx, read: Sequence[_Read], signed_by: str | None) -> set[int]:
    """Admit the rows without a conflict. Return the positions of the others.

    If its id belongs to another submission, a row is refused under the id of its message. If that is the same id, it is
    refused under an id derived from it.
    """
    admitted = _take_in(tx, read)
    if admitted.conflicts:
        _take_in(tx, [_refused(read[place]) for place in admitted.conflicts])
    new = [row.submission for row in read if row.submission.id in admitted.new and not row.reason]
    if signed_by is not None and new:
        _note(tx, signed_by, new)
    return set(admitted.conflicts)


def _take_in(tx: Tx, read: Sequence[_Read]) -> submissions.Admitted:
    return submissions.admit(
        tx, [row.submission for row in read], [row.reason for row in read], [row.name for row in read]
    )


def _note(tx: Tx, signed_by: str, new: Sequence[Submission]) -> None:
    """Record new submissions of a signed message in the audit. A redelivery has none, so it is not recorded. The id of
    the message is not the token of the entry: its sender chooses it, and could suppress an entry with it.
    """
    target: dict[str, JSON] = {"apps": sorted({each.app for each in new})}
    result: dict[str, JSON] = {"submissions": sorted(each.require_id() for each in new)[:NAMED_MAX]}
    if len(new) > NAMED_MAX:
        result["more"] = len(new) - NAMED_MAX
    by = audit.key_holder(signed_by)
    audit.note(tx, token=str(uuid4()), actor=by, action="submit", target=target, result=result)


def _refused(row: _Read) -> _Read:
    id_ = row.submission.require_id()
    name = row.name if row.name != id_ else _fitting(f"{id_}/conflict")
    reason = row.reason or conflict(row.submission).what
    return _Read(name, msgspec.structs.replace(row.submission, id=name), reason)


def _read(name: str, raw: msgspec.Raw) -> _Read:
    """Return the submission with an empty reason, or a stand-in with its readable fields and the reason for the
    refusal."""
    if is_reserved(name):
        # Under another id. Otherwise the refusal would occupy the id of a submission of the ledger's or the scheduler's
        # own.
        name = _fitting(f"{name}/refused" if name.endswith(COMPENSATION) else f"refused/{name}")
        return _Read(name, _stand_in(name, raw), RESERVED)
    if reason := unfit(bytes(raw)):
        return _Read(name, _stand_in(name, raw), f"The submission is refused. {reason}")
    try:
        submission = msgspec.json.decode(raw, type=Submission)
    except msgspec.MsgspecError as error:
        return _Read(name, _stand_in(name, raw), f"The submission cannot be read: {error}")
    if reason := _fault(submission):
        return _Read(name, _stand_in(name, raw), reason)
    return _Read(name, submission if submission.id else msgspec.structs.replace(submission, id=name), "")


def _fault(submission: Submission) -> str:
    """Return the reason to refuse a readable submission, or "" if there is none."""
    if reason := oversized(submission.kwargs, submission.policy):
        return f"The submission is refused. {reason}"
    if submission.compensates is not None:
        return NOT_ASKED_FOR
    return RESERVED if submission.id and is_reserved(submission.id) else ""


def _stand_in(name: str, raw: msgspec.Raw) -> Submission:
    words = _words(raw)
    app, own_id = _text(words.get("app")), _text(words.get("id"))
    has_id = 0 < len(own_id) <= ID_LENGTH_MAX and not is_reserved(own_id)
    return Submission(app=app or "?", id=own_id if has_id else name)


def _words(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        return (
            {} if is_deeper(bytes(raw), DEPTH_MAX) else msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        )
    except msgspec.MsgspecError:
        return {}


def _text(raw: msgspec.Raw | None) -> str:
    """Return the text if the ledger can store it, otherwise ""."""
    try:
        text = msgspec.json.decode(raw, type=str) if raw is not None else ""
    except msgspec.MsgspecError:
        return ""
    return "" if "\x00" in text else text


def _fitting(id_: str) -> str:
    """Return the id, or a shorter one derived from it if it is too long."""
    return id_ if len(id_) <= ID_LENGTH_MAX else str(uuid5(NAMESPACE_OID, id_))


#: Reason to refuse a submission that claims to compensate another one.
NOT_ASKED_FOR = "compensates: a failed saga is undone automatically; this cannot be requested."
#: Reason to refuse an id that is reserved for schedules or compensations.
RESERVED = (
    f"id: ids that begin with {SCHEDULED} belong to schedules, and ids that end in {COMPENSATION} to the"
    " undo of another submission. Choose another id."
)


def require_defined(catalogue: Catalogue, submission: Submission) -> None:
    """Raise BadRequest if these definitions cannot serve a submission: its app, its keys, its kwargs or its policy."""
    app = catalogue.app(submission.app)
    require_fit(app, submission.policy)
    if not app.is_keyed_by_template:
        return
    for key in submission.named_keys or ():
        app.read_key(key)
    if app.function is not None and app.job_type == "python":
        FunctionCall(app.function).require_kwargs(app.template.names, submission.kwargs)


def sound(submission: Submission) -> Submission:
    """Return a checked submission, as a message has it, with a new id if it has none. BadRequest for values that no
    planner would accept."""
    if submission.policy:
        submission = msgspec.structs.replace(submission, policy=declarative_policy(submission.policy))
    parse_policy(submission.policy)
    if submission.compensates is not None:
        raise BadRequest(NOT_ASKED_FOR)
    if submission.id and is_reserved(submission.id):
        raise BadRequest(RESERVED)
    try:
        reason = unfit(msgspec.json.encode(submission)) or oversized(submission.kwargs, submission.policy)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        reason = f"It cannot be written as JSON: {error}."
    if reason:
        raise BadRequest(f"The submission is refused. {reason}", where=submission.app)
    return submission if submission.id else msgspec.structs.replace(submission, id=str(uuid4()))
