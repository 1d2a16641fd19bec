"""Client for programs: submit, query, wait, cancel, pause, manage an app's tasks. Everything goes through the ledger.

A submission is safe once the ledger has it. The message sent afterwards only saves the wait for the groomer's next
tick. So the broker may be down, and the caller need not repeat anything.
"""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from copy import copy
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar, overload
from uuid import uuid4

from msgspec import Struct, json

from sluice.actors.dispatch import announce, tell
from sluice.actors.end_listener import EndListener
from sluice.actors.planner.admission import require_defined, sound
from sluice.actors.planner.landed_partitions import land, stale_partitions
from sluice.actors.planner.pauses import go_on, hold_apps_back, hold_back, let_apps_go
from sluice.actors.planner.retries import retry
from sluice.actors.planner.saga_events import send_event
from sluice.actors.results import read_result
from sluice.actors.tasks import Tasks
from sluice.actors.telemetry.trace_context import sending
from sluice.broker.messages import Message, Plan
from sluice.jobs.api.definition import AppRef, app_name
from sluice.jobs.blobs import BlobStore
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import slices_by
from sluice.jobs.errors import BadRequest, JobFailed, Unreachable
from sluice.jobs.keys.key_fields import readings_for
from sluice.jobs.model.history import JobReport, log_of, record_of
from sluice.jobs.model.names import JobName
from sluice.jobs.model.results import JobRequest, Returning, decoded, result_type
from sluice.jobs.model.submission import JSON, Submission, SubmissionState
from sluice.jobs.observe.failpoints import Failpoint, TransactionKind, reached
from sluice.jobs.observe.outages import NOT_SENT, missed
from sluice.jobs.states import TERMINAL, State
from sluice.jobs.text.filter_parser import parse_condition
from sluice.jobs.text.filters import Condition
from sluice.jobs.text.paging import Order
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import awaited_ends, submissions
from sluice.ledger.lifecycle.awaited_ends import Awaited, Progress
from sluice.ledger.reads import job_details, job_lists, results, submission_progress
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ledger.sagas import abortion
from sluice.ledger.sagas.events import EventOutcome, EventRequest

R = TypeVar("R")


class Landing(Struct, frozen=True, kw_only=True):
    """Result of a landing: the numbers of ``new`` partitions, of existing partitions that landed ``again``, and by
    table of partitions that became ``stale``."""

    new: int
    again: int
    stale: Mapping[str, int]


class Client:
    """Client of one ledger, which ``connect`` opens. Threads may share it.

    A submission is stored once the call has returned, even if the broker is down.
    """

    # ``publish`` sends messages to the broker; if it fails, that is only logged. It may collect messages for a moment,
    # and sends them when it is called without a message, because a call waits.
    # ``definitions`` returns the catalogue for operations that need it. With ``checks``, submissions must fit it; else
    # the planner refuses them later.
    # ``blobs`` has the large results. ``within`` is the trace context of this program, for submissions made outside of
    # any span (see ``actors.telemetry.trace_context``).
    def __init__(
        self,
        ledger: Ledger,
        publish: Callable[[Sequence[Message]], None],
        definitions: Callable[[], Catalogue] | None = None,
        *,
        blobs: BlobStore | None = None,
        within: str | None = None,
        checks: bool = False,
    ) -> None:
        self._ledger = ledger
        self._publish = publish
        self._may_collect = False
        self._definitions = definitions
        self._blobs = blobs
        self._within = within
        self._checks = checks
        self._ends = EndListener(ledger)

    def beside(self, also: Callable[[Tx, Any], None]) -> "Client":
        """Return a client that also calls ``also`` in the transaction of each operation (``Ledger.beside``)."""
        twin = copy(self)
        twin._ledger = self._ledger.beside(also)
        return twin

    def close(self) -> None:
        """Close the connection of calls that wait. They are cancelled."""
        self._ends.close()

    @overload
    def submit(self, wanted: JobRequest[R]) -> "Handle[R]": ...

    @overload
    def submit(self, wanted: Submission) -> str: ...

    def submit(self, wanted: Any) -> Any:
        """Submit, and return the id of the submission, or a handle of the one job of a ``JobRequest``.

        ``wanted`` is a ``Submission``, or the request for one job that ``fetch.job(…)`` returns. The same submission
        again under one id changes nothing, unless it was refused: then it is planned again. Conflict if a
        submission with this id and other content exists.
        """
        if not isinstance(wanted, JobRequest):
            return self.submit_many([wanted])[0]
        submission = Submission(app=wanted.app, key=wanted.key, kwargs=wanted.kwargs)
        # A program that has waited before is likely to wait for this job too.
        is_marked = self._ends.is_in_use
        return Handle(self, self._submit([submission], awaited=is_marked)[0], wanted, is_marked=is_marked)

    def submit_many(self, wanted: Sequence[Submission]) -> list[str]:
        """Submit all of the ``wanted`` submissions or none, and return their ids.

        BadRequest for values that no planner would accept, or that do not fit the definitions of this client.
        UnknownApp if it has definitions, and none of the app. Conflict for an id of another submission.
        """
        return self._submit(wanted)

    def _submit(self, wanted: Sequence[Submission], *, awaited: bool = False) -> list[str]:
        checked = [sound(submission) for submission in wanted]
        if self._definitions and self._checks:
            for submission in checked:
                require_defined(self._definitions(), submission)
        with sending(checked, within=self._within) as named:
            # The ids that are new are the result, which ``Ledger.beside`` passes to its callback.
            self._ledger.transact(
                lambda tx: submissions.receive(tx, named, awaited=awaited), TransactionKind.CLIENT
            )
            ids = [submission.require_id() for submission in named]
            self.have_planned(ids)
            reached(Failpoint.CLIENT_TOLD)
        return ids

    def have_planned(self, ids: Sequence[str]) -> None:
        """Notify the planner of submissions that are already in the ledger."""
        self._hint(Plan(submissions=tuple(ids)))

    def cancel(self, submission: str) -> list[int]:
        """Cancel a submission and the jobs that no other submission requests, and return the ended jobs by their
        internal numbers. ``submission`` is its id. BadRequest if no submission with this id is open."""
        ended = self._cancel(lambda tx: submissions.cancel(tx, submission))
        if ended is None:
            raise _no_submission("open", submission)
        return ended

    def retry(self, submission: str) -> None:
        """Run the unsuccessful jobs of a submission again; it succeeds when they do. ``submission`` is its id.
        BadRequest if it does not exist, is still open, was refused, is paused, has succeeded, or is being undone."""
        retry(self._ledger, submission)
        self.have_planned([submission])

    def cancel_job(self, name: JobName) -> list[int]:
        """Cancel one job, even if several submissions request it, and return the ended jobs by their internal numbers.
        ``name`` is the job."""
        return self.cancel_jobs([name])

    def cancel_jobs(self, names: Sequence[JobName]) -> list[int]:
        """Cancel jobs, even if several submissions request them, and return the ended jobs by their internal numbers.
        ``names`` are the jobs. Jobs that have ended before, or that do not exist, are left out."""
        return self._cancel(lambda tx: submissions.cancel_jobs(tx, names)) or []

    def pause(self, submission: str) -> int:
        """Pause a submission, and return the number of jobs held back. Jobs that only paused submissions request are
        not started.

        ``submission`` is its id. BadRequest if no submission with this id is open.
        """
        held_back = hold_back(self._ledger, submission)
        if held_back.jobs is None:
            raise _no_submission("open", submission)
        self._hint(*held_back.messages)
        return len(held_back.jobs)

    def resume(self, submission: str) -> int:
        """Resume a submission, and return the number of jobs released. ``submission`` is its id. BadRequest if it does
        not exist or is not paused."""
        found = go_on(self._ledger, submission)
        if found is None:
            raise _no_submission("paused", submission)
        self._hint(*found.messages)
        return found.let_go

    def pause_apps(self, apps: Collection[AppRef], *, by: str | None = None) -> list[str]:
        """Pause apps, and return the names of the apps that were not paused before. None of their jobs is started,
        for any submission. ``apps`` are names or decorated functions, and ``by`` is recorded as the
        user that paused them."""
        paused = hold_apps_back(self._ledger, [*map(app_name, apps)], by)
        self._hint(*paused.messages)
        return paused.apps

    def resume_apps(self, apps: Collection[AppRef]) -> list[str]:
        """Resume ``apps``, and return the names of the apps that were paused."""
        return let_apps_go(self._ledger, [*map(app_name, apps)], lambda messages: self._hint(*messages))

    def resume_job(
        self,
        name: JobName,
        event: str | None = None,
        *,
        payload: JSON = None,
        by: str | None = None,
        id: str | None = None,
        may_be_early: bool = True,
    ) -> EventOutcome:
        """Deliver an event to a saga, or without an event end its wait. Return the effect, for example ``RESUMED``.

        ``name`` is the saga's job, ``event`` the event that it waits for, and ``payload`` its JSON value. ``by`` is
        recorded as the user that sent it.

        An event that the saga does not wait for yet is kept. An event for a job that does not exist yet is kept for a
        day, if ``may_be_early``. A repeated ``id`` for the same job changes nothing and returns ``REPEATED``. Default:
        a new id, so that each call is another event.

        BadRequest if the job has ended, or if it does not exist and no definition shows that it can.
        """
        token = str(uuid4()) if id is None else id
        said = EventRequest(name=event, payload=payload, by=by, token=token)
        definitions = self._definitions() if self._definitions else None
        heard = send_event(self._ledger, definitions, name, said, may_be_early=may_be_early)
        self._hint(*heard.messages)
        return heard.became

    def force_done(self, name: JobName, *, by: str, note: str | None = None, id: str | None = None) -> str:
        """Mark the failed undo of a saga as done, and let the flight continue. ``name`` is the saga's job. Return the
        id of the submission that runs it again; the caller may choose that ``id``. The journal records ``by`` and the
        ``note``.

        BadRequest if no undo of the job has failed.
        """
        again = sound(Submission(id=id, app=name.app, key=name.key, user=by, rerun="job"))

        def work(tx: Tx) -> bool:
            forced = abortion.force_done(tx, name, f"{by}: {note}" if note else by)
            submissions.receive(tx, [again] if forced else [])
            # If the answer of a commit was lost, the transaction runs again and finds its submission.
            return forced is not None or submission_progress.status(tx, again.require_id()) is not None

        if not self._ledger.transact(work):
            raise BadRequest(
                f"No undo of {name} has failed.",
                advice="Only a saga in state `fatal` whose undo failed can be forced.",
            )
        self.have_planned([again.require_id()])
        return again.require_id()

    def land(
        self,
        table: str,
        partitions: Iterable[str],
        *,
        again: bool = False,
        by: Mapping[str, str] | None = None,
    ) -> Landing:
        """Record that partitions exist. Return the numbers of ``new`` partitions, of existing partitions that land
        ``again``, and by table of partitions that become ``stale``.

        ``partitions`` are partitions of the ``table``, or ranges such as ``2026-11-01..2026-11-07``. A repetition
        changes nothing. With ``again`` existing ones have new contents: the partitions that were made from them become
        stale, and each repetition is another landing. If the table has a second dimension, ``by`` names the slice, like
        ``{"store": "graz"}``; ``table`` may also be the name of the slice, ``events[store=graz]``.

        BadRequest for a client without definitions, for a table that no app fills or reads, and for a text that is not
        a partition of it.
        """
        catalogue = self._known_apps()
        tables = (table,) if by is None else slices_by(catalogue, table, by)
        if len(tables) > 1:
            raise BadRequest(
                f"It names {len(tables)} slices of {table}.",
                advice="Land the partitions of each slice by itself.",
            )
        landing = land(self._ledger, catalogue, tables[0], partitions, again=again)
        self._hint(*landing.messages)
        return Landing(new=landing.new, again=landing.again, stale=landing.stale)

    def restate(
        self,
        table: str | None = None,
        partitions: Iterable[str] = (),
        *,
        by: Mapping[str, str | Sequence[str]] | None = None,
        apps: Collection[str] | None = None,
    ) -> list[str]:
        """Submit all stale partitions that are made from the ``table``, or from these ``partitions`` of it. Return the
        ids of the submissions, one for each app. Default: all stale partitions. If the table has a second dimension,
        ``by`` selects slices of it, like ``{"store": "graz"}``. ``apps`` are the only apps that make partitions again.
        Default: all.

        BadRequest as for ``land``.
        """
        catalogue = self._known_apps()
        found = self._ledger.transact(lambda tx: stale_partitions(tx, catalogue, table, partitions, by=by))
        return self.submit_many([each for each in found if apps is None or each.app in apps])

    def _known_apps(self) -> Catalogue:
        if self._definitions is None:
            raise BadRequest(
                "This client has no definitions, which name the tables.",
                advice='Name their sources, like `connect(apps=("pipeline.py",))`.',
            )
        return self._definitions()

    def tasks(self, app: AppRef) -> Tasks:
        """Return the ``app`` as its manager sees it: tasks are opened, collected and archived. UnknownApp if
        definitions are available and do not have it."""
        return Tasks(
            self._ledger, self.have_planned, app_name(app), self._definitions() if self._definitions else None
        )

    def status(self, submission: str) -> submission_progress.SubmissionStatus | None:
        """Return the status of a submission, or None if it does not exist. ``submission`` is its id."""
        return self._ledger.transact(lambda tx: submission_progress.status(tx, submission))

    def job(self, app: AppRef, key: str) -> JobReport | None:
        """Return the report of a job, or None if the ledger does not have it.

        ``app`` is a name or a decorated function. The ``key`` is written as ``sluice ls`` shows it. If the job moves on
        during the read, the record may be newer than the state, but never older.
        """

        def read(tx: Tx) -> JobReport | None:
            found = job_details.job(tx, JobName(app_name(app), key))
            if found is None:
                return None
            result = results.result(tx, found.name)
            history, rounds = job_details.history(tx, found.id), job_details.rounds(tx, found.id)
            return JobReport(
                app=found.app,
                key=found.key,
                state=found.state,
                round=found.round,
                fails=found.fails,
                timeouts=found.timeouts,
                losses=found.losses,
                not_before=found.not_before,
                end_before=found.end_before,
                result=json.decode(result.result) if result and result.result is not None else None,
                record=record_of(history, rounds, archived_at=found.archived_at),
                log=log_of(found.name, history, rounds, archived_at=found.archived_at),
            )

        return self._ledger.transact(read)

    @overload
    def result(self, app: Returning[Coroutine[Any, Any, R]], key: str) -> R: ...

    @overload
    def result(self, app: Returning[R], key: str) -> R: ...

    @overload
    def result(self, app: str, key: str) -> Any: ...

    def result(self, app: Any, key: str) -> Any:
        """Return the result of a job. ``app`` is a name or a decorated function, whose annotation the result is
        decoded into. None if the function returned None.

        NoResult, which is a BadRequest, if the job has not succeeded, or if its result was removed or lost. The ``key``
        is written as ``sluice ls`` shows it.
        """
        name = JobName(app if isinstance(app, str) else app.name, key)
        return self.read_result(name, None if isinstance(app, str) else result_type(app.function))

    def read_result(self, name: JobName, decode: Any = None) -> Any:
        """Return the result of a job, decoded as a ``JobRequest`` does it."""
        return _value(read_result(self._ledger, self._blobs, name), decode, name)

    def jobs(
        self,
        where: Condition | str | None = None,
        *,
        page: str | None = None,
        order: Order = Order(),  # noqa: B008 - an order is a value and never changes
        limit: int = 100,
    ) -> job_lists.JobPage:
        """Return a page of the jobs that match a condition, with the total number of jobs and the token of the next
        page.

        ``where`` is the condition: a text such as ``app = fetch and state = failed``, or structs. ``page`` is the token
        of a page; default: the first. ``order`` is that of the jobs, and ``limit`` the size of a page. Without
        definitions, the inputs of a job are its kwargs alone. BadRequest for a condition that cannot be read or
        evaluated, and for a token of another order.
        """
        if isinstance(where, str):
            where = parse_condition(where, datetime.now(UTC))
        wanted = JobFilter(where=where, readings=readings_for(where, self._definitions))
        return self._ledger.transact(lambda tx: job_lists.page(tx, wanted, page, order=order, limit=limit))

    def wait(
        self, submission: str, *, timeout_s: float | None = None
    ) -> submission_progress.SubmissionStatus:
        """Wait until a submission has ended, and return its status. ``submission`` is its id. TimeoutError after
        ``timeout_s`` seconds.

        The transaction that ends it wakes the call. Calls in many threads share one connection.
        """
        self._ended(Awaited(submission, of_job=False), timeout_s)
        return self._status(submission)

    def end_of(self, awaited: Awaited) -> Future[Progress]:
        """Return a future of the end of a submission or of its job. Cancel it to stop waiting."""
        future = self._ends.wait(awaited)
        if self._may_collect:
            self._may_collect = False
            self._send([])
        return future

    def progress(self, awaited: Awaited) -> Progress:
        """Return the present state of a submission, or of its job. BadRequest if it does not exist."""
        progress = self._ledger.transact(lambda tx: awaited_ends.read(tx, [awaited]))[0]
        if progress.number is None:
            raise BadRequest(f"There is no submission {awaited.submission}.")
        return progress

    def _ended(self, awaited: Awaited, timeout_s: float | None) -> Progress:
        future = self.end_of(awaited)
        try:
            return future.result(timeout_s)
        except TimeoutError:
            state = self._status(awaited.submission).state
            raise TimeoutError(f"Submission {awaited.submission} is still {state}.") from None
        finally:
            future.cancel()

    def _status(self, submission: str) -> submission_progress.SubmissionStatus:
        status = self.status(submission)
        if status is None:
            raise BadRequest(f"There is no submission {submission}.")
        return status

    def _cancel(self, cancel: Callable[[Tx], list[int] | None]) -> list[int] | None:
        """Return the ended jobs. Their children are notified, and other jobs of their pools may start."""

        def work(tx: Tx) -> tuple[list[int] | None, Sequence[Message]]:
            ended = cancel(tx)
            return ended, [*tell(ended or []), *announce(tx, [])]

        ended, messages = self._ledger.transact(work)
        reached(Failpoint.CALLED_OFF)
        self._hint(*messages)
        return ended

    def _hint(self, *messages: Message) -> None:
        if messages:
            self._may_collect = self._send(messages)

    def _send(self, messages: Sequence[Message]) -> bool:
        """Publish, and return whether that was possible."""
        try:
            self._publish([*messages])
        except Unreachable as error:
            missed(error, NOT_SENT, len(messages))
            return False
        return True


class HandleStatus(Struct, frozen=True, kw_only=True):
    """Present state of a submitted job."""

    #: State of the submission, for example ``active``.
    submission: SubmissionState
    #: State of the job, for example ``running``. None until it is planned.
    state: State | None
    #: Error of the last round, or the reason why the submission was refused.
    error: str | None


def status_of(progress: Progress) -> HandleStatus:
    """Return the state of the job that a submission names."""
    if progress.state is None:
        raise AssertionError("the submission exists")
    return HandleStatus(
        submission=progress.state, state=progress.job, error=progress.error or progress.reason
    )


class Handle(Generic[R]):
    """One submitted job, which ``Client.submit`` returns for a ``JobRequest``."""

    def __init__(self, client: Client, id: str, request: JobRequest[R], *, is_marked: bool = False) -> None:
        #: Id of the submission.
        self.id = id
        #: Name of the app.
        self.app: str = request.app
        #: Key of the job, as it was requested.
        self.key: str = request.key
        self._client = client
        self._request = request
        self.awaited = Awaited(id, of_job=True, is_marked=is_marked)

    def __repr__(self) -> str:
        return f"<handle of {self.app}/{self.key}>"

    def wait(self, timeout: float | None = None) -> HandleStatus:
        """Wait until the job has ended, and return its status. TimeoutError after ``timeout`` seconds."""
        return status_of(self._client._ended(self.awaited, timeout))

    def result(self, timeout: float | None = None) -> R:
        """Wait until the job has ended, and return its result. JobFailed if it has not succeeded. TimeoutError after
        ``timeout`` seconds."""
        return self.result_of(self._client._ended(self.awaited, timeout))

    def result_of(self, progress: Progress) -> R:
        """Return the result of the job, which has ended. JobFailed if it has not succeeded."""
        if progress.name is None or progress.job is not State.SUCCEEDED:
            status = status_of(progress)
            # A job may go on for other submissions when this one is cancelled.
            state = status.state if status.state in TERMINAL else status.submission
            raise JobFailed(self.app, self.key, str(state), status.error)
        if progress.has_result:
            result: R = _value(progress.result, self._request.decode, progress.name)
        else:
            result = self._client.read_result(progress.name, self._request.decode)
        return result

    def cancel(self) -> None:
        """Cancel the submission, and the job unless other submissions request it. BadRequest if it has ended."""
        self._client.cancel(self.id)

    def status(self) -> HandleStatus:
        """Return the present state of the job."""
        return status_of(self._client.progress(self.awaited))


def _value(text: str | None, decode: Any, name: JobName) -> Any:
    return None if text is None else decoded(text, decode, name)


def _no_submission(kind: str, id_: str) -> BadRequest:
    return BadRequest(
        f"There is no {kind} submission {id_}.", advice="`sluice submissions` lists the existing submissions."
    )
