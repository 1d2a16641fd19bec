"""Audit of acts: their outcomes, derived from the return value of the act's transaction.

Invariants:

- Each act by the console, by the command line and by a signed message is recorded in its own transaction, with the
  name of its actor. An act in several transactions, for example on a selection, has an entry for each of them that
  changed something.
- None as the outcome means that the act changed nothing, and no entry is written: the call was refused, or its effect
  existed already.
- An entry has no secret: no value of an environment, of a kwarg or of the payload of an event.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from sluice.actors.branches import Difference
from sluice.actors.planner.landed_partitions import LandingResult
from sluice.actors.planner.pauses import AppPauseResult, PauseResult, ResumeResult
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON, Submission
from sluice.jobs.text.redaction import masked, masked_policy
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import saga_details
from sluice.ledger.sagas.events import EventDelivery, EventOutcome
from sluice.ledger.stats import audit

ActResult = Mapping[str, JSON]
Reading = Callable[[Tx, Any], ActResult | None]

#: Options of a submission that the audit keeps as they are.
_NAMING = ("id", "app", "key", "start", "end", "by", "mode", "branch", "rerun")
#: Greatest number of names in the list of an entry, for example of landed partitions: 20. A range may have thousands.
NAMED_MAX = 20


def audited(who: str, did: str, about: Mapping[str, JSON], reading: Reading) -> Callable[[Tx, Any], None]:
    """Return a function for ``Ledger.beside`` that records an act and its sender in the transaction of the act.

    If that transaction is repeated, the act is recorded once.
    """
    token = str(uuid4())

    def write(tx: Tx, found: Any) -> None:
        came_to = reading(tx, found)
        if came_to is not None:
            audit.note(tx, token=token, actor=who, action=did, target=about, result=came_to)

    return write


def about_submission(wanted: Submission) -> dict[str, JSON]:
    """Return the part of a submission that the audit keeps: the policy without values of the environment, and the
    names of the kwargs. Values of kwargs may be as secret, and of any size.
    """
    about = {word: getattr(wanted, word) for word in _NAMING if getattr(wanted, word) is not None}
    if wanted.policy:
        about["policy"] = masked_policy(wanted.policy)
    if wanted.kwargs:
        about["kwargs"] = sorted(masked(name) for name in wanted.kwargs)
    return about


def submitted(_: Tx, new: set[str]) -> ActResult | None:
    """Return the new submissions. A submission that existed before is not received again."""
    return {"submissions": sorted(new)} if new else None


def cancelled(_: Tx, found: tuple[list[int] | None, Sequence[Any]]) -> ActResult | None:
    ended = found[0]
    return None if ended is None else {"cancelled": len(ended)}


def job_cancelled(name: JobName) -> Reading:
    """Return a ``Reading`` for a cancelled job. A saga that has begun does not stop; it is undone first."""

    def read(tx: Tx, found: tuple[list[int], Sequence[Any]]) -> ActResult | None:
        if found[0]:
            return {"cancelled": len(found[0])}
        return {"cancelled": 0, "undone_first": 1} if saga_details.is_aborting(tx, name) else None

    return read


def retried(_: Tx, found: bool) -> ActResult | None:  # noqa: FBT001 - it is what the work returns
    return {"retried": True} if found else None


def paused(_: Tx, found: PauseResult) -> ActResult | None:
    return None if found.jobs is None else {"held_back": len(found.jobs)}


def resumed(_: Tx, found: ResumeResult | None) -> ActResult | None:
    return None if found is None else {"let_go": found.let_go}


def heard(_: Tx, found: tuple[EventDelivery, Sequence[Any]]) -> ActResult | None:
    became = found[0].became
    nothing = (EventOutcome.UNKNOWN, EventOutcome.TOO_LATE, EventOutcome.REPEATED)
    return None if became in nothing else {"became": str(became)}


def forced(is_done: str) -> Reading:
    """Return a ``Reading`` for a forced undo. ``is_done`` is the step with the undo that counts as done."""

    def read(_: Tx, found: bool) -> ActResult | None:  # noqa: FBT001 - it is what the work returns
        return {"forced": is_done} if found else None

    return read


def archived(_: Tx, found: int) -> ActResult | None:
    return {"archived": found} if found else None


def jobs_archived(_: Tx, found: list[int]) -> ActResult | None:
    return {"archived": len(found)} if found else None


def sent_again(_: Tx, found: int) -> ActResult | None:
    return {"again": found} if found else None


def landed(_: Tx, found: LandingResult) -> ActResult | None:
    told: dict[str, JSON] = {"landed": found.new} if found.new else {}
    if found.again:
        told |= {"again": found.again, "stale": dict(found.stale)}
    return told or None


def restated(tx: Tx, found: Any) -> ActResult | None:
    """Return the new submissions. The stale partitions are read in a transaction before, with a result that is no
    act.
    """
    return submitted(tx, found) if isinstance(found, set) else None


def restored(_: Tx, above: int | None) -> ActResult | None:
    return None if above is None else {"above": above}


def apps_paused(_: Tx, found: AppPauseResult) -> ActResult | None:
    return {"paused": found.apps} if found.apps else None


def schedules_paused(_: Tx, found: list[str]) -> ActResult | None:
    """Return the schedules that were not paused before."""
    return {"paused": found} if found else None


def synced(_: Tx, found: Difference) -> ActResult | None:
    return {"changed": [each.app for each in found.moved][:NAMED_MAX]} if found.moved else None


def all_resumed(_: Tx, found: Any) -> ActResult | None:
    """Return the apps or schedules that were paused.

    The clock is read in a transaction before this one, and ready jobs of apps are announced in later transactions.
    Results of these transactions are no act.
    """
    is_act = isinstance(found, list) and found and isinstance(found[0], str)
    return {"resumed": found} if is_act else None


def fired(_: Tx, found: Any) -> ActResult | None:
    """Return the outcome of firing a schedule. The clock may be read in a transaction before, with a result that is no
    act.
    """
    return {"fired": True} if found is True else None
