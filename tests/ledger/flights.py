"""Sagas as the ledger sees them: claims of flights, entries of their journals, and events for them."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from sluice.actors.dispatch import announce
from sluice.broker.messages import Cancel, Message
from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.sagas.journal import Await, Direction, EntryResult, Failure, JournalEntry, JournalReply, Log
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import claims
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.sagas import events, journals
from sluice.ledger.sagas.events import EventOutcome, EventRequest
from tests.world import World

#: Number of steps of each flight here.
STEPS = 3


class Sagas:
    """Jobs of a world, claimed as if they were sagas. The entries of their steps are written by hand."""

    def __init__(self, world: World) -> None:
        self.world = world

    def claim(self, job: str = "a", ledger: Ledger | None = None) -> ClaimedJob:
        """Claim a job for a new worker with a lease that begins now."""
        known, worker = self.world.known(job), self.world.hire()
        turn = (known.id, self.world.round(job))
        taken = (ledger or self.world.ledger).transact(
            lambda tx: claims.claim(tx, known.app, [turn], claims.ClaimTerms(worker, saga=True))
        )
        assert taken.jobs, f"{job} cannot be claimed: it is {self.world.state(job)}"
        return taken.jobs[0]

    def write(self, claimed: ClaimedJob, entry: JournalEntry, ledger: Ledger | None = None) -> JournalReply:
        return (ledger or self.world.ledger).transact(
            lambda tx: journals.write(tx, claimed.right, claimed.flight, entry)
        )

    def read(self, claimed: ClaimedJob, ledger: Ledger | None = None) -> Log | None:
        return (ledger or self.world.ledger).transact(
            lambda tx: journals.read(tx, claimed.right, claimed.flight)
        )

    def heed(self, claimed: ClaimedJob) -> JournalReply:
        return self.world.ledger.transact(lambda tx: journals.check(tx, claimed.right))

    def suspend(
        self, claimed: ClaimedJob, seq: int, event: str | None = None, within_s: float | None = None
    ) -> None:
        """Record that step ``seq - 1`` is done and requests a wait, and suspend the job."""
        assert self.write(claimed, awaits(seq, event, within_s)).stands
        assert self.world.record(claimed, Ending.SUSPENDED, event=event, waits_s=within_s)

    def say(
        self,
        name: str | None = None,
        job: str = "a",
        *,
        token: str | None = None,
        payload: Any = None,
        ledger: Ledger | None = None,
    ) -> EventOutcome:
        """Send an event to a job, and deliver the resulting messages. Default of ``token``: a new one."""
        app, _, key = job.partition("/")
        said = EventRequest(name=name, payload=payload, by="somebody", token=token or str(uuid4()))

        def work(tx: Tx) -> tuple[EventOutcome, Sequence[Message]]:
            heard = events.deliver(tx, JobName(app, key or "1"), said)
            return heard.became, announce(tx, heard.ready)

        became, messages = (ledger or self.world.ledger).transact(work)
        self.world.queue.extend(messages)
        self.world.deliver()
        return became

    def cancel_job(self, job: str) -> None:
        """Cancel a job by name, whichever submissions want it."""
        self.world.queue.append(Cancel(app=job, key="1"))
        self.world.deliver()

    def end(self, claimed: ClaimedJob, ending: Ending = Ending.DONE, error: str | None = None) -> None:
        """End the run with this ending, and have it judged."""
        assert self.world.record(claimed, ending, error=error)


def did(
    seq: int, step: int | None = None, working: Mapping[str, Any] = {}, result: EntryResult = EntryResult.DONE
) -> JournalEntry:
    """Return the entry of a do that is over. Default of ``step``: ``seq - 1``."""
    return _entry(seq, seq - 1 if step is None else step, Direction.DO, result, working)


def awaits(
    seq: int, event: str | None = None, within_s: float | None = None, *, undone: int | None = None
) -> JournalEntry:
    """Return the entry of a step that is done and requests a wait.

    It is the do of step ``seq - 1``, or the undo of step ``undone`` if that is given.
    """
    awaited = Await(event=event, within_s=within_s)
    if undone is None:
        return _entry(seq, seq - 1, Direction.DO, EntryResult.AWAITS, awaits=awaited)
    return _entry(seq, undone, Direction.UNDO, EntryResult.AWAITS, awaits=awaited)


def came(seq: int, event: int | None, step: int = 0) -> JournalEntry:
    return _entry(seq, step, Direction.DO, EntryResult.CAME, event=event)


def switched(seq: int, step: int) -> JournalEntry:
    return _entry(seq, step, Direction.SWITCH, failure=Failure(type="ValueError", message="x"))


def undid(seq: int, step: int, result: EntryResult = EntryResult.DONE) -> JournalEntry:
    """Return the entry of an undo that is over, or that has failed if ``result`` is ``UNDO_FAILED``."""
    failure = Failure(type="OSError", message="gone") if result is EntryResult.UNDO_FAILED else None
    return _entry(seq, step, Direction.UNDO, result, failure=failure)


def _entry(
    seq: int,
    step: int,
    direction: Direction,
    result: EntryResult = EntryResult.DONE,
    working: Mapping[str, Any] = {},
    **words: Any,
) -> JournalEntry:
    name = f"S{step}"
    return JournalEntry(
        seq=seq,
        step=step,
        name=name,
        steps=STEPS,
        direction=direction,
        result=result,
        working=working,
        **words,
    )
