"""The scheduler: on every Look message it handles schedules that are due, or that differ from their definition.

``scheduler.evaluate`` decides, and the ledger stores the result. The leader only sends the messages. The ledger ensures
that a due time is fired once (``ledger.schedules``).
"""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from sluice.actors.dispatch import announce, tell
from sluice.broker.messages import Look, Message, Plan
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.submission import Refusal, Submission, conflict
from sluice.jobs.observe.failpoints import TransactionKind
from sluice.jobs.schedules.schedule import StoredSchedule
from sluice.ledger import schedules
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import requests, submissions
from sluice.scheduler.evaluate import ScheduleResult, settle
from sluice.scheduler.overlap import overlap_of

#: Maximum number of schedules that are handled in one transaction.
BATCH = 100
#: Maximum number of transactions for one message. The next message continues.
BATCHES_MAX = 20


def check_schedules(ledger: Ledger, catalogue: Catalogue, message: Look) -> Sequence[Message]:
    """Handle the schedules of this process's definitions. If nothing is due and nothing has changed, this costs one
    statement."""
    if not catalogue.sources:
        return []
    known = [
        schedules.DefinedSchedule(each.id, each.source, each.digest) for each in catalogue.schedules.values()
    ]
    messages: list[Message] = []
    for _ in range(BATCHES_MAX):
        sight = ledger.transact(
            partial(schedules.find_due, known=known, loaded=catalogue.sources, limit=BATCH)
        )
        if sight.gone:
            ledger.transact(partial(schedules.retire, known=known, loaded=catalogue.sources))
        if not sight.stirring:
            break
        is_left, sent = ledger.transact(
            partial(_see_to, catalogue=catalogue, ids=sight.stirring), TransactionKind.LOOK
        )
        messages += sent
        if not is_left:
            break
    return messages


def take_up(tx: Tx, catalogue: Catalogue, ids: Sequence[str]) -> None:
    """Enter defined schedules that are not in the ledger yet."""
    _see_to(tx, catalogue=catalogue, ids=list(ids))


def _see_to(tx: Tx, *, catalogue: Catalogue, ids: list[str]) -> tuple[bool, Sequence[Message]]:
    """Handle these schedules. Return whether more may be left to do, and the messages that follow."""
    settled, before = _settle(tx, catalogue, ids)
    schedules.move(tx, [each.standing for each in settled], before)
    fired = schedules.record(tx, [firing for each in settled for firing in each.firings])
    asked = [wanted for each in settled for wanted in _asked(each, fired)]
    ended = submissions.cancel_all(
        tx, [id for each in settled if _asked(each, fired) for id in each.replaced]
    )
    messages = tell(ended)
    if asked:
        _submit(tx, asked)
        messages.append(Plan(submissions=tuple(wanted.require_id() for wanted in asked)))
    messages += announce(tx, [])
    return any(each.more for each in settled) or len(ids) == BATCH, messages


def _submit(tx: Tx, asked: Sequence[Submission]) -> None:
    """Admit the submissions of due times. If another submission has the same id, only that one is refused."""
    conflicts = [asked[place] for place in submissions.admit(tx, asked).conflicts]
    requests.note(tx, [Refusal(each.require_id(), each.app, conflict(each).what) for each in conflicts])


def _settle(
    tx: Tx, catalogue: Catalogue, ids: list[str]
) -> tuple[list[ScheduleResult], dict[str, StoredSchedule]]:
    """Decide schedule by schedule. After a schedule has fired, other schedules of its app wait if they may not run at
    the same time."""
    entries = [catalogue.schedules[id_] for id_ in ids]
    overlaps = [overlap_of(entry, catalogue[entry.app]) for entry in entries]
    alone = {entry.app for entry, overlap in zip(entries, overlaps, strict=True) if overlap.of_app}
    before = schedules.lock(tx, ids, sorted(alone))
    busy = schedules.open_work(
        tx,
        [
            schedules.OverlapQuery(entry.id, entry.app, cares=overlap.way is not None)
            for entry, overlap in zip(entries, overlaps, strict=True)
        ],
    )
    now = tx.current_time()
    settled: list[ScheduleResult] = []
    fired: set[str] = set()
    for entry, overlap in zip(entries, overlaps, strict=True):
        facts = replace(busy[entry.id], app=busy[entry.id].app or entry.app in fired)
        settled.append(settle(entry, before.get(entry.id), now, facts, overlap))
        fired |= {wanted.app for wanted in _wanted(settled[-1])}
    return settled, before


def _wanted(settled: ScheduleResult) -> list[Submission]:
    return [firing.submission for firing in settled.firings if firing.submission]


def _asked(settled: ScheduleResult, fired: set[str]) -> list[Submission]:
    """Return the submissions to make. A due time may have been fired by hand before it came."""
    return [wanted for wanted in _wanted(settled) if wanted.require_id() in fired]
