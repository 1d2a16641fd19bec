"""External work: its start, its polls and its end.

The user's job manager starts the work or finds it again. A run polls the work repeatedly until it ends
(``ManagedRunner``). No run waits for a long-running service. Any worker that is sent makes one poll of it, with a
manager of its own (``look``), or has the manager end it (``end``). The ``outcome`` of a poll is that of a run. No
exception of user code leaves this module.

A run that is stopped ends the work only if the ledger shows that no other claim is responsible for it
(``jobs.model.external_work.Keeper``): the job was cancelled, has expired, was timed out or given up. A worker that
leaves hands the job back and the work continues. A worker that has lost its claim does not touch the work. The work is
also ended after ``timeout_s``, which counts from the claim, unless it belongs to another claim by then.

The check and the cancellation are not atomic. If the job is cancelled and requested again in between, its new claim may
find the old work by its token. If that work is then ended, the new claim fails once.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.errors import SluiceError
from sluice.jobs.model.external_work import (
    POLL_S,
    Attachment,
    ManagesJobs,
    Stage,
    Status,
    WorkOwner,
    read_status,
)
from sluice.jobs.model.job import Acknowledge, Assignment, Ending, Job, Outcome, Report
from sluice.jobs.model.names import JobName
from sluice.jobs.model.request_limits import NUL
from sluice.jobs.model.submission import JSON
from sluice.jobs.runners.function.call import account, settled
from sluice.jobs.runners.output import job_log, legible, worker_log
from sluice.jobs.runners.run_outcome import failed, of_halt
from sluice.jobs.runners.run_output import RunOutput
from sluice.jobs.runners.stop_signal import Halt, Limits
from sluice.jobs.text.redaction import masked_value

#: Maximum number of calls of ``cancel``, if it raises.
CANCEL_TRIES = 3
#: Maximum size of a handle in bytes. A handle identifies the work and does not contain it.
HANDLE_BYTES_MAX = 64 * 1024


class ManagedRunner:
    """Runner of external work. It creates a manager for each run."""

    def __init__(self, manager: Callable[[], ManagesJobs]) -> None:
        self._manager = manager

    def run(
        self,
        assignment: Assignment,
        *,
        stop: threading.Event,
        report: Report,
        attachment: Attachment | None = None,
        acknowledge: Acknowledge | None = None,
        **_: object,
    ) -> Outcome:
        """Run the work. ``job.transaction()`` is not available because its commit would include the job's success."""
        limits = Limits(stop, assignment.timeout_s)
        output = RunOutput(assignment.echo)
        job = Job(
            assignment,
            report=report,
            log=job_log(assignment.name, write=output.log, tell=worker_log(assignment.name)),
            cancelled=lambda: limits.reached() is not None,
            acknowledge=acknowledge,
            answers=assignment.answers,
        )
        with output:
            outcome = self._watched(job, limits, attachment, output if assignment.app.unbounded else None)
        return output.of(outcome)

    def _watched(
        self, job: Job, limits: Limits, attachment: Attachment | None, of_service: RunOutput | None
    ) -> Outcome:
        """Return the outcome of the work. ``of_service`` is the output of the start of a long-running service."""
        try:
            manager = self._manager()
            pause_s = poll_s_of(manager)
        except BaseException as error:
            # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
            return failed(account(error))
        watch = _Watch(
            manager,
            job,
            attachment=attachment or _Unattached(),
            limits=limits,
            pause_s=pause_s,
            # Without a ledger no worker will be sent to poll.
            leaves=of_service.text if of_service and attachment else None,
        )
        return watch.outcome()


class _Unattached:
    """Attachment of a run without a ledger. No other claim will ever be responsible for the work that it starts."""

    handle = None

    def keep(self, _: JSON, *, look_every_s: float | None = None, external_status: str = "") -> bool:  # noqa: ARG002  # Of no use here.
        return True

    def keeper(self, _: JSON) -> WorkOwner:
        return WorkOwner.NONE

    def ended(self, _: JSON) -> None:
        """Do nothing, because no handle is stored."""

    def not_ended(self, _: JSON) -> None:
        """Do nothing. The caller of a run without a ledger reads the error in the outcome."""


class _Watch:
    """One run: start the work or find it again, then poll until it has ended or leave it.

    ``leaves`` is set for a long-running service and returns its output so far. The run is over once the service has
    started.
    """

    def __init__(
        self,
        manager: ManagesJobs,
        job: Job,
        *,
        attachment: Attachment,
        limits: Limits,
        pause_s: float,
        leaves: Callable[[], str] | None,
    ) -> None:
        self._manager = manager
        self._job = job
        self._attachment = attachment
        self._limits = limits
        self._pause_s = pause_s
        self._leaves = leaves
        self._said = ""
        self._left = [*job.claimed.partitions]

    def outcome(self) -> Outcome:
        found = self._attachment.handle
        if found is not None:
            self._job.log.info("found the work that an earlier claim started: %s", _shown(found))
            return self._go_on(found)
        if self._limits.reached() is not None:
            return Outcome(ending=Ending.HANDED_BACK, error="It was stopped before it began.")
        return self._begin()

    def _begin(self) -> Outcome:
        """Start the work. Its handle is stored before anything else happens."""
        try:
            started = settled(self._manager.run(self._job))
        except BaseException as error:
            return self._unstarted(account(error))
        if started is None:
            return self._unstarted("run() returned no handle to find its work again.")
        try:
            handle = _portable(started)
        except ValueError as fault:
            trouble = self._cancel(started)
            return failed(joined(f"The handle that run() returned cannot be kept: {fault}.", trouble))
        return self._go_on(handle, new=True)

    def _go_on(self, handle: JSON, *, new: bool = False) -> Outcome:
        """Stay with the work. If the run ``leaves`` it, store its handle and output so far for the polls of other
        workers.
        """
        if self._leaves is not None:
            kept = self._attachment.keep(handle, look_every_s=self._pause_s, external_status=self._leaves())
            return Outcome(ending=Ending.DETACHED) if kept else self._leave(handle, Halt.STOPPED)
        if new and not self._attachment.keep(handle):
            return self._leave(handle, Halt.STOPPED)
        return self._look_until_the_end(handle)

    def _unstarted(self, error: str) -> Outcome:
        """Return the outcome of a failed start. An error after ``job.cancelled`` was true counts as the reaction to the
        stop.
        """
        halt = self._limits.reached() if self._job.told else None
        if halt is None:
            return failed(error)
        ending, error = of_halt(halt, self._limits.timeout_s)
        return Outcome(ending=ending, error=error)

    def _look_until_the_end(self, handle: JSON) -> Outcome:
        """Poll until the end. This is the only place where a run waits: for the next poll, the timeout, or a stop."""
        failed_polls = 0
        while True:
            heard = ask(self._manager, handle, failed_polls=failed_polls)
            if heard.give_up:
                return self._give_up(handle, heard.trouble)
            if heard.status is None:
                failed_polls += 1
                self._job.log.warning("check() failed and is called again: %s", heard.trouble)
            else:
                failed_polls = 0
                outcome = self._heard(heard.status, handle)
                if outcome is not None:
                    return outcome
            self._limits.wait(self._pause_s * 2**failed_polls)
            halt = self._limits.reached()
            if halt is not None:
                return self._leave(handle, halt)

    def _heard(self, status: Status, handle: JSON) -> Outcome | None:
        """Return the outcome that the status implies. None while the work continues."""
        if status.progress is not None:
            self._job.progress(*status.progress)
        try:
            self._acknowledge(status.done)
        except SluiceError as error:
            return self._give_up(handle, error.what)
        if status.stage is Stage.FAILED:
            return of_failed(status)
        self._say(status)
        return Outcome(ending=Ending.DONE) if status.stage is Stage.SUCCEEDED else None

    def _acknowledge(self, done: Sequence[str]) -> None:
        """Acknowledge the partitions made since the last poll. An earlier claim or round may have acknowledged
        others.
        """
        for partition in [each for each in self._left if each in done]:
            self._job.done(partition)
            self._left.remove(partition)

    def _say(self, status: Status) -> None:
        if status.text and status.text != self._said:
            self._job.log.info("%s", legible(status.text))
            self._said = status.text

    def _leave(self, handle: JSON, halt: Halt) -> Outcome:
        """End the run because of a limit. Also end the work if no other claim is responsible for it."""
        ending, error = of_halt(halt, self._limits.timeout_s)
        keeper = self._attachment.keeper(handle)
        if keeper is WorkOwner.NONE or (keeper is WorkOwner.OURS and halt is Halt.TIMED_OUT):
            trouble = self._cancel(handle)
            if keeper is WorkOwner.NONE:
                (self._attachment.not_ended if trouble else self._attachment.ended)(handle)
            return Outcome(ending=ending, error=joined(error, trouble))
        return Outcome(ending=ending, error=f"{error} The work that it started still runs: {_shown(handle)}")

    def _give_up(self, handle: JSON, error: str) -> Outcome:
        """Fail the run and end the work, because the handle will be forgotten. The work of another claim is left
        alone.
        """
        if self._attachment.keeper(handle) is WorkOwner.ANOTHER:
            return failed(error)
        return failed(joined(error, self._cancel(handle)))

    def _cancel(self, handle: object) -> str | None:
        """Cancel the work. Return the reason if that failed, or None."""
        for tries_left in reversed(range(CANCEL_TRIES)):
            try:
                settled(self._manager.cancel(handle))
                break
            except BaseException as error:
                trouble = f"cancel() failed, so the work may still run: {account(error)}"
                self._job.log.warning("%s", trouble)
                if not tries_left:
                    return trouble
            time.sleep(min(self._pause_s, POLL_S))
        return None


def _portable(handle: object) -> JSON:
    """Return the handle as the next claim will read it. ValueError if the ledger cannot store it."""
    try:
        text = msgspec.json.encode(handle)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"it is no JSON value: {error}") from None
    if len(text) > HANDLE_BYTES_MAX:
        raise ValueError(f"it has {len(text):,} bytes; the limit is {HANDLE_BYTES_MAX:,}")
    if NUL in text:
        raise ValueError("it holds a NUL character, which the ledger cannot store")
    portable = msgspec.json.decode(text)
    if portable is None:
        raise ValueError("it is null, which identifies no work")
    return portable


def _shown(handle: JSON) -> str:
    return msgspec.json.encode(masked_value(handle)).decode()


#: Number of consecutive errors of ``check`` that are tolerated, each followed by twice the previous pause. The next
#: error fails the run.
FAILED_POLLS_MAX = 3
#: Upper and lower bound of the seconds between two polls. They override the manager's ``poll_s``.
POLL_S_MAX, POLL_S_MIN = 3600.0, 0.01
#: Characters of the status text that are stored with the job, for people. The round's output has all of it.
SAID_CHARS = 1000

Maker = Callable[[], ManagesJobs]


class StatusCheck(Struct, frozen=True):
    """Result of a status check. ``status`` is None if the check failed. Then ``trouble`` is the reason, and
    ``give_up`` is set if the check must not be repeated.
    """

    status: Status | None
    trouble: str = ""
    give_up: bool = False


class PollResult(Struct, frozen=True, kw_only=True):
    """Result of one poll of a long-running service.

    An ``outcome`` ends the round. Otherwise the next poll is due after ``poll_s``, or later if this one was ``missed``.
    ``external_status`` is the status text for people, ``line`` is for the output.
    """

    outcome: Outcome | None = None
    missed: bool = False
    poll_s: float = POLL_S
    external_status: str | None = None
    line: str = ""


def ask(manager: ManagesJobs, handle: JSON, *, failed_polls: int) -> StatusCheck:
    """Check the status of the work. ``failed_polls`` is the number of consecutive errors before this check."""
    try:
        answer = settled(manager.check(handle))
    except BaseException as error:
        # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
        if failed_polls < FAILED_POLLS_MAX:
            return StatusCheck(None, account(error))
        return StatusCheck(
            None, f"check() failed {failed_polls + 1} times in a row: {account(error)}", give_up=True
        )
    try:
        return StatusCheck(read_status(answer))
    except ValueError as fault:
        return StatusCheck(None, f"The result of check() cannot be used: {fault}.", give_up=True)


def look(make: Maker, name: JobName, handle: JSON, *, failed_polls: int) -> PollResult:
    """Poll a long-running service. If the manager fails for good, the work is ended."""
    with RunOutput() as output:
        log = job_log(name, write=output.log, tell=worker_log(name))
        polled = _poll(make, handle, failed_polls=failed_polls, log=log)
    return replace(polled, line=output.text())


def _poll(make: Maker, handle: JSON, *, failed_polls: int, log: logging.Logger) -> PollResult:
    try:
        manager = make()
        poll_s = poll_s_of(manager)
    except BaseException as error:
        # Treated like an error of ``check``: when the manager is fixed, the work still exists.
        heard = StatusCheck(None, account(error), give_up=failed_polls >= FAILED_POLLS_MAX)
        return _trouble(make, handle, heard) if heard.give_up else _missed(heard.trouble, log)
    heard = ask(manager, handle, failed_polls=failed_polls)
    if heard.give_up:
        return _trouble(lambda: manager, handle, heard)
    if heard.status is None:
        return _missed(heard.trouble, log)
    status = heard.status
    if status.stage is not Stage.RUNNING:
        return PollResult(outcome=stopped(status))
    if status.text:
        log.info("%s", legible(status.text))
    return PollResult(poll_s=poll_s, external_status=short(status.text) or None)


def end(make: Maker, handle: JSON) -> str | None:
    """End the work. Return the reason if that failed, or None."""
    try:
        settled(make().cancel(handle))
    except BaseException as error:
        return f"cancel() failed, so the work may still run: {account(error)}"
    return None


def stopped(status: Status) -> Outcome:
    """Return the outcome of a long-running service that has ended. It has failed, whatever its final status."""
    if status.stage is Stage.FAILED:
        return of_failed(status)
    external_status = f": {status.text}" if status.text else "."
    return failed(f"The work has ended by itself, although it must run until it is stopped{external_status}")


def of_failed(status: Status) -> Outcome:
    return failed(status.text or "The work has failed, and check() gave no reason.")


def poll_s_of(manager: ManagesJobs) -> float:
    poll_s = getattr(manager, "poll_s", POLL_S)
    if isinstance(poll_s, bool) or not isinstance(poll_s, int | float) or not 0 < poll_s < math.inf:
        raise ValueError(f"poll_s is {poll_s!r}; it takes a number of seconds above 0")
    return min(max(float(poll_s), POLL_S_MIN), POLL_S_MAX)


def joined(error: str, trouble: str | None) -> str:
    return legible(f"{error}\n{trouble}" if trouble else error)


def short(text: str) -> str:
    """Return the part of a text that is stored with the job."""
    return legible(text)[:SAID_CHARS]


def _trouble(make: Maker, handle: JSON, heard: StatusCheck) -> PollResult:
    """End the work and return a failed round. The round's handle will be forgotten, so the work must not continue."""
    return PollResult(outcome=failed(joined(heard.trouble, end(make, handle))))


def _missed(trouble: str, log: logging.Logger) -> PollResult:
    log.warning("check() failed and is called again: %s", trouble)
    return PollResult(missed=True, external_status=short(f"check() failed: {trouble}"))
