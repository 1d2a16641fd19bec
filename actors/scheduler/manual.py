"""Manual operations on schedules: fire, pause, resume."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import uuid4

from sluice.actors.scheduler.due_schedules import take_up
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import Submission
from sluice.jobs.schedules.schedule import Firing, FiringOutcome, Schedule, by_hand_id, submission_id
from sluice.ledger import schedules
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import submissions

_NOTE = "by hand"


class ManualFiring(NamedTuple):
    """Result of ``fire``. ``is_new`` is false if the due time had been fired before; ``submission`` is then the
    existing one."""

    submission: str
    due: datetime
    is_new: bool


def fire(ledger: Ledger, schedule: Schedule, due: datetime | None) -> ManualFiring:
    """Fire a due time that has not been fired, even if it was skipped or is in the future. Without one, fire now.

    Pauses and overlap rules do not apply.
    """
    if due is None:
        now = ledger.transact(lambda tx: tx.current_time())
        # Due times are whole seconds, and a firing by hand must not coincide with one.
        due = now.replace(microsecond=now.microsecond or 1)
        asked = _asked(schedule, due, by_hand_id(schedule.id, str(uuid4())))
    else:
        asked = _asked(schedule, due, submission_id(schedule.id, due))
    firing = Firing(schedule=schedule.id, due=due, outcome=FiringOutcome.FIRED, note=_NOTE, submission=asked)

    def work(tx: Tx) -> bool:
        is_new = bool(schedules.record(tx, [firing], by_hand=True))
        submissions.receive(tx, [asked] if is_new else [])
        return is_new

    return ManualFiring(asked.require_id(), due, ledger.transact(work))


def pause(ledger: Ledger, catalogue: Catalogue | None, ids: Sequence[str]) -> list[str]:
    """Pause schedules, and return the ids that were not paused before. A schedule that is defined but not in the ledger
    yet is entered first."""

    def work(tx: Tx) -> list[str]:
        known = schedules.lock(tx, ids)
        new = [id_ for id_ in ids if catalogue and id_ in catalogue.schedules and id_ not in known]
        if catalogue and new:
            take_up(tx, catalogue, new)
        return schedules.pause(tx, ids)

    return ledger.transact(work)


def resume(ledger: Ledger, ids: Sequence[str]) -> list[str]:
    """Resume schedules, and return the ids that were paused."""
    return ledger.transact(lambda tx: schedules.resume(tx, ids))


def _asked(schedule: Schedule, due: datetime, id_: str) -> Submission:
    try:
        return schedule.submission(due, id_)
    except (ValueError, OverflowError) as error:
        raise BadRequest(
            f"{schedule.id} cannot be fired for {due.isoformat()}: {error}.",
            where=schedule.source,
            advice="Fix its templates, or fire it for another due time.",
        ) from None
