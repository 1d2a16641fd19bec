"""Admitting submissions that come by message: each is admitted or refused by itself, and a refused one is kept.

A message may be delivered twice. Its rows are then neither admitted, refused, counted nor logged again.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

import msgspec

from sluice.actors.asked import NOT_ASKED_FOR, RESERVED
from sluice.jobs.places import Place, reached
from sluice.jobs.request_limits import DEPTH_MAX, ID_LENGTH_MAX, is_deeper, oversized, unfit
from sluice.jobs.submission import COMPENSATION, Submission, conflict, is_reserved
from sluice.ledger import submissions
from sluice.ledger.connection import Ledger, Tx


class _Read(NamedTuple):
    """``name`` is the id that its message gives it. A submission that is refused is a stand-in, with what could be
    read."""

    name: str
    submission: Submission
    reason: str


def admit(ledger: Ledger, rows: Iterable[tuple[str, msgspec.Raw]]) -> list[Submission]:
    """Admit or refuse each row, which comes with the id it has if it names none; those that are admitted. Sound rows
    come first, so that none with the same id that is at fault takes it from them."""
    read = sorted((_read(_fitting(name), raw) for name, raw in rows), key=lambda row: bool(row.reason))

    def work(tx: Tx) -> set[int]:
        conflicts = _admit(tx, read)
        reached(Place.SUBMIT_WRITTEN)
        return conflicts

    conflicts = ledger.transact(work)
    reached(Place.SUBMIT_COMMITTED)
    return [row.submission for place, row in enumerate(read) if not row.reason and place not in conflicts]


def _admit(tx: Tx, read: Sequence[_Read]) -> set[int]:
    """Take in what has no conflict. A row whose id belongs to another submission is refused under the id of its
    message, or, if that is the same, under one that is made of it."""
    conflicts = _take_in(tx, read)
    if conflicts:
        _take_in(tx, [_refused(read[place]) for place in conflicts])
    return set(conflicts)


def _take_in(tx: Tx, read: Sequence[_Read]) -> list[int]:
    admitted = submissions.admit(
        tx, [row.submission for row in read], [row.reason for row in read], [row.name for row in read]
    )
    return admitted.conflicts


def _refused(row: _Read) -> _Read:
    id_ = row.submission.require_id()
    name = row.name if row.name != id_ else _fitting(f"{id_}/conflict")
    reason = row.reason or conflict(row.submission).what
    return _Read(name, msgspec.structs.replace(row.submission, id=name), reason)


def _read(name: str, raw: msgspec.Raw) -> _Read:
    """The submission and "", or a stand-in that keeps what could be read of it, and why it is refused."""
    if is_reserved(name):
        # Under another id, or the refusal would take the place of the submission that the id belongs to.
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
    """Return why a submission that can be read is refused; "" if it is not."""
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
    """A text that the ledger can keep; "" for anything else."""
    try:
        text = msgspec.json.decode(raw, type=str) if raw is not None else ""
    except msgspec.MsgspecError:
        return ""
    return "" if "\x00" in text else text


def _fitting(id_: str) -> str:
    """Return the id, or a shorter one derived from it if it is too long."""
    return id_ if len(id_) <= ID_LENGTH_MAX else str(uuid5(NAMESPACE_OID, id_))
