"""What programs do with Sluice: submit, look, wait, cancel, pause, manage an app's tasks. It goes through the ledger.

A submission is safe once the ledger has it; the message sent after it only saves the groomer's next look.
So the broker may be down, and nobody has to repeat anything.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sluice.actors.announce import announce, tell
from sluice.actors.asked import sound
from sluice.actors.landing import land
from sluice.actors.pausing import go_on, hold_back, let_apps_go
from sluice.actors.resuming import say
from sluice.actors.retry import retry
from sluice.actors.sending import sending
from sluice.actors.tasks import Tasks
from sluice.broker.messages import Message, Plan
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.condition import Condition, needs_definitions
from sluice.jobs.condition_text import parse_condition
from sluice.jobs.errors import BadRequest, Unreachable
from sluice.jobs.key_reading import KeyReadings, key_readings
from sluice.jobs.paging import Order
from sluice.jobs.places import Place, reached
from sluice.jobs.ref import JobName
from sluice.jobs.report import Report
from sluice.jobs.round_record import log_of, record_of
from sluice.jobs.submission import JSON, Submission, SubmissionState
from sluice.ledger import app_pauses, forcing, submissions
from sluice.ledger.connection import Ledger, Tx
from sluice.ledger.events import Became, Said
from sluice.ledger.reads import dossier, listing, progress

_LOG = logging.getLogger("sluice.client")

#: A waiting client looks this often.
LOOK_EVERY_S = 0.2


class Client:
    """``publish`` sends messages to the broker; where it fails, that is logged and no more. ``definitions`` gives the
    catalogue to whoever asks for something that needs it. ``within`` is where this program belongs in a trace, for what
    it submits outside of any span (see ``actors.sending``)."""

    def __init__(
        self,
        ledger: Ledger,
        publish: Callable[[Sequence[Message]], None],
        definitions: Callable[[], Catalogue] | None = None,
        *,
        within: str | None = None,
    ) -> None:
        self._ledger = ledger
        self._publish = publish
        self._definitions = definitions
        self._within = within

    def beside(self, also: Callable[[Tx, Any], None]) -> "Client":
        """One who does the same, and ``also`` that in the transaction of whatever it does (``Ledger.beside``)."""
        return Client(self._ledger.beside(also), self._publish, self._definitions)

    def submit(self, submission: Submission) -> str:
        """Take it in, and return its id. To submit the same again under one id changes nothing, unless it was refused:
        then it is planned again. Conflict if the id belongs to a submission that asks for something else."""
        return self.submit_many([submission])[0]

    def submit_many(self, wanted: Sequence[Submission]) -> list[str]:
        """BadRequest for words that no planner would understand, and Conflict for an id of another submission; none of
        them is taken in then."""
        with sending([sound(submission) for submission in wanted], within=self._within) as named:
            self._ledger.transact(lambda tx: _receive(tx, named))
            reached(Place.CLIENT_COMMITTED)
            ids = [submission.require_id() for submission in named]
            self.have_planned(ids)
            reached(Place.CLIENT_TOLD)
        return ids

    def have_planned(self, ids: Sequence[str]) -> None:
        """Tell the planner of submissions that stand in the ledger already."""
        self._hint(Plan(submissions=tuple(ids)))

    def cancel(self, submission: str) -> list[int]:
        """Cancel a submission and what nobody else wants; BadRequest if it is not there or has ended."""
        ended = self._cancel(lambda tx: submissions.cancel(tx, submission))
        if ended is None:
            raise _no_submission("open", submission)
        return ended

    def retry(self, submission: str) -> None:
        """Run the unsuccessful jobs of a submission again; it succeeds when they do. BadRequest if it does not exist,
        is still open, was refused, is paused, has succeeded, or is being undone."""
        retry(self._ledger, submission)
        self.have_planned([submission])

    def cancel_job(self, name: JobName) -> list[int]:
        """Cancel one job, whoever wants it."""
        return self._cancel(lambda tx: submissions.cancel_job(tx, name)) or []

    def pause(self, submission: str) -> int:
        """Begin nothing more that only paused submissions want; how many jobs this holds back.

        BadRequest if it is not there or has ended.
        """
        held_back = hold_back(self._ledger, submission)
        if held_back.jobs is None:
            raise _no_submission("open", submission)
        self._hint(*held_back.messages)
        return len(held_back.jobs)

    def resume(self, submission: str) -> int:
        """Let it go on; how many jobs this lets go. BadRequest if it is not there or is not paused."""
        found = go_on(self._ledger, submission)
        if found is None:
            raise _no_submission("paused", submission)
        self._hint(*found.messages)
        return found.let_go

    def pause_apps(self, apps: Collection[str], *, by: str | None = None) -> list[str]:
        """Begin none of their jobs, whoever wants them; those that were not paused before."""
        return self._ledger.transact(lambda tx: app_pauses.pause(tx, apps, by=by))

    def resume_apps(self, apps: Collection[str]) -> list[str]:
        """Let their jobs begin; those that were paused."""
        return let_apps_go(self._ledger, apps, lambda messages: self._hint(*messages))

    def resume_job(
        self,
        name: JobName,
        event: str | None = None,
        *,
        payload: JSON = None,
        by: str | None = None,
        id: str | None = None,
        may_be_early: bool = True,
    ) -> Became:
        """Tell a saga what it waits for, or, without an event, that it goes on; what it does not wait for yet is kept,
        and what comes before the job is there, for a day, unless it may not.

        A repeated ``id`` for the same job changes nothing and returns ``REPEATED``. Default: an id of its own, so that
        each call is another event.

        BadRequest if the job has ended, or is not there and no definition says that it could be.
        """
        token = str(uuid4()) if id is None else id
        said = Said(name=event, payload=payload, by=by, token=token)
        definitions = self._definitions() if self._definitions else None
        heard = say(self._ledger, definitions, name, said, may_be_early=may_be_early)
        self._hint(*heard.messages)
        return heard.became

    def force_done(self, name: JobName, *, by: str, note: str | None = None, id: str | None = None) -> str:
        """Have the undo that failed of a saga count as done, and the flight go on; the submission that runs it again,
        whose id may be given. The journal says who it was, with the ``note`` if there is one.

        BadRequest if no undo of it has failed.
        """
        again = sound(Submission(id=id, app=name.app, key=name.key, user=by, rerun="job"))

        def work(tx: Tx) -> bool:
            forced = forcing.force_done(tx, name, f"{by}: {note}" if note else by)
            submissions.receive(tx, [again] if forced else [])
            # A commit whose answer was lost is run again, and finds that it is done.
            return forced is not None or progress.status(tx, again.require_id()) is not None

        if not self._ledger.transact(work):
            raise BadRequest(
                f"No undo of {name} has failed.",
                advice="Only a saga that is fatal for that can be helped so.",
            )
        self.have_planned([again.require_id()])
        return again.require_id()

    def land(self, catalogue: Catalogue, table: str, partitions: Iterable[str]) -> int:
        """Note that these partitions, or ranges of them, are there; how many were not before. BadRequest for a table
        that no app fills or reads, and for what is no partition of it."""
        landing = land(self._ledger, catalogue, table, partitions)
        self._hint(*landing.messages)
        return landing.new

    def tasks(self, app: str) -> Tasks:
        """The app as whoever manages it sees it. UnknownApp where definitions are at hand that do not have it."""
        return Tasks(self._ledger, self.have_planned, app, self._definitions() if self._definitions else None)

    def status(self, submission: str) -> progress.Status | None:
        return self._ledger.transact(lambda tx: progress.status(tx, submission))

    def job(self, app: str, key: str) -> Report | None:
        """What has become of a job so far; None where the ledger has never heard of it.

        The key is written as ``sluice ls`` shows it. Where the job moves on meanwhile, the record may know more than
        the state says, never less.
        """

        def read(tx: Tx) -> Report | None:
            found = dossier.job(tx, JobName(app, key))
            if found is None:
                return None
            history, rounds = dossier.history(tx, found.id), dossier.rounds(tx, found.id)
            return Report(
                app=found.app,
                key=found.key,
                state=found.state,
                round=found.round,
                fails=found.fails,
                timeouts=found.timeouts,
                losses=found.losses,
                not_before=found.not_before,
                end_before=found.end_before,
                record=record_of(history, rounds, archived_at=found.archived_at),
                log=log_of(found.name, history, rounds, archived_at=found.archived_at),
            )

        return self._ledger.transact(read)

    def jobs(
        self,
        where: Condition | str | None = None,
        *,
        page: str | None = None,
        order: Order = Order(),  # noqa: B008 - an order is a value and never changes
        limit: int = 100,
    ) -> listing.Page:
        """The jobs of which a condition is true, as text or as structs, page by page: the first, or the one that the
        token ``page`` leads to. Without definitions the inputs of a job are its kwargs alone.

        BadRequest for a condition that cannot be read or asked, and for a token that is none of this order.
        """
        if isinstance(where, str):
            where = parse_condition(where, datetime.now(UTC))
        wanted = listing.Filter(where=where, readings=self._readings(where), order=order, limit=limit)
        return self._ledger.transact(lambda tx: listing.page(tx, wanted, page))

    def wait(self, submission: str, *, timeout_s: float | None = None) -> progress.Status:
        """Until it has ended. TimeoutError if that takes longer than the caller has."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            status = self.status(submission)
            if status is None:
                raise BadRequest(f"There is no submission {submission}.")
            if status.state not in (SubmissionState.RECEIVED, SubmissionState.ACTIVE):
                return status
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"Submission {submission} is still {status.state}.")
            time.sleep(LOOK_EVERY_S)

    def _readings(self, where: Condition | None) -> KeyReadings | None:
        """Those who ask for nothing that stands in definitions need have none, or none without a fault."""
        if where is None or self._definitions is None or not needs_definitions(where):
            return None
        return key_readings(self._definitions())

    def _cancel(self, cancel: Callable[[Tx], list[int] | None]) -> list[int] | None:
        """What that ends; its children are told, and others of its pools may run."""

        def work(tx: Tx) -> tuple[list[int] | None, Sequence[Message]]:
            ended = cancel(tx)
            return ended, [*tell(ended or []), *announce(tx, [])]

        ended, messages = self._ledger.transact(work)
        reached(Place.CALLED_OFF)
        self._hint(*messages)
        return ended

    def _hint(self, *messages: Message) -> None:
        if not messages:
            return
        try:
            self._publish([*messages])
        except Unreachable as error:
            _LOG.warning("the broker was not told, the groomer will see to it: %s", error)


def _receive(tx: Tx, named: list[Submission]) -> set[str]:
    """Those that were not there before, which whoever stands beside the act is told."""
    new = submissions.receive(tx, named)
    reached(Place.CLIENT_WRITTEN)
    return new


def _no_submission(kind: str, id_: str) -> BadRequest:
    return BadRequest(
        f"There is no {kind} submission {id_}.", advice="`sluice submissions` lists what there is."
    )
