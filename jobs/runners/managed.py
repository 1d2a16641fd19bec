"""Work that runs elsewhere: started or found again by the user's job manager, and asked about until it ends.

A run that is stopped ends the work only where the ledger says that nobody else looks after it
(``jobs.managed.Keeper``): the job was cancelled, has expired, was timed out or given up. A worker that leaves
hands the job back and the work goes on; a worker whose claim was taken over keeps its hands off. Over
``timeout_s``, which counts from the claim, the work is ended as well, unless it is another claim's by then.

That is asked and then done, not both at once. Where a job is cancelled and wanted anew in between, its new
claim may find the old work by its token just before it is ended, and fails once.
"""

import math
import threading
import time
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from jobs.job import Assignment, Job, Report
from jobs.managed import POLL_S, Attachment, Keeper, ManagesJobs, Stage, Status, read_status
from jobs.outcome import Ending, Outcome
from jobs.runners.call import account, settled
from jobs.runners.ending import failed, of_halt
from jobs.runners.excerpt import Excerpt, legible
from jobs.runners.joblog import job_log, worker_log
from jobs.runners.limits import Halt, Limits
from jobs.submission import JSON, NUL

#: So many errors of ``check`` in a row are borne, each with twice the pause of the last; one more is the run's.
MISSES_MAX = 3
#: Work is told to end so often, if telling it fails.
CANCEL_TRIES = 3
#: No manager is waited for longer than this between two looks, nor less than this.
POLL_S_MAX, POLL_S_MIN = 3600.0, 0.01
#: A handle says where the work is; it does not carry it.
HANDLE_BYTES_MAX = 64 * 1024


class ManagedRunner:
    """Makes a manager for each run."""

    def __init__(self, manager: Callable[[], ManagesJobs]) -> None:
        self._manager = manager

    def run(
        self,
        assignment: Assignment,
        *,
        stop: threading.Event,
        report: Report,
        attachment: Attachment | None = None,
        **_: object,
    ) -> Outcome:
        """There is no ``job.transaction()``: what commits with it would be the job's success."""
        limits = Limits(stop, assignment.timeout_s)
        output = Excerpt(assignment.echo.stdout)
        log = job_log(assignment.name, write=output.add_text, tell=worker_log(assignment.name))
        job = Job(assignment, report=report, log=log, cancelled=lambda: limits.reached() is not None)
        try:
            manager = self._manager()
            pause_s = _poll_s(manager)
        except BaseException as error:
            # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
            return failed(account(error))
        watch = _Watch(
            manager,
            job,
            attachment=attachment or _Unattached(),
            limits=limits,
            stop=stop,
            report=report,
            pause_s=pause_s,
        )
        return replace(watch.outcome(), output=output.text())


class _Unattached:
    """For a run without a ledger: nobody else will ever look after what it has started."""

    handle = None

    def keep(self, _: JSON) -> bool:
        return True

    def keeper(self, _: JSON) -> Keeper:
        return Keeper.NOBODY

    def ended(self, _: JSON) -> None:
        """There is nothing to forget."""


class _Watch:
    """One run: start the work or find it again, look until it has ended, or leave it."""

    def __init__(
        self,
        manager: ManagesJobs,
        job: Job,
        *,
        attachment: Attachment,
        limits: Limits,
        stop: threading.Event,
        report: Report,
        pause_s: float,
    ) -> None:
        self._manager = manager
        self._job = job
        self._attachment = attachment
        self._limits = limits
        self._stop = stop
        self._report = report
        self._pause_s = pause_s
        self._said = ""

    def outcome(self) -> Outcome:
        found = self._attachment.handle
        if found is not None:
            self._job.log.info("found again what an earlier claim has started: %s", _shown(found))
            return self._look_until_the_end(found)
        if self._limits.reached() is not None:
            return Outcome(ending=Ending.HANDED_BACK, error="It was stopped before it began.")
        return self._begin()

    def _begin(self) -> Outcome:
        """Start the work; from then on its handle is the first thing that is seen to."""
        try:
            started = settled(self._manager.run(self._job))
        except BaseException as error:
            return self._unstarted(account(error))
        if started is None:
            return self._unstarted("run() returned nothing by which its work can be found again.")
        try:
            handle = _portable(started)
        except ValueError as fault:
            trouble = self._cancel(started)
            return failed(_joined(f"The handle that run() returned cannot be kept: {fault}.", trouble))
        if not self._attachment.keep(handle):
            return self._leave(handle, Halt.STOPPED)
        return self._look_until_the_end(handle)

    def _unstarted(self, error: str) -> Outcome:
        """An end that may be the answer to being told to stop."""
        halt = self._limits.reached() if self._job.told else None
        if halt is None:
            return failed(error)
        ending, error = of_halt(halt, self._limits.timeout_s)
        return Outcome(ending=ending, error=error)

    def _look_until_the_end(self, handle: JSON) -> Outcome:
        """The one place where a run waits: until the next look, the timeout, or word to stop."""
        misses = 0
        while True:
            try:
                answer = settled(self._manager.check(handle))
                misses = 0
            except BaseException as error:
                misses += 1
                if misses > MISSES_MAX:
                    return self._give_up(handle, f"check() failed {misses} times in a row: {account(error)}")
                self._job.log.warning("check() failed and is asked again: %s", account(error))
            else:
                outcome = self._heard(handle, answer)
                if outcome is not None:
                    return outcome
            self._stop.wait(self._limits.within_s(self._pause_s * 2**misses))
            halt = self._limits.reached()
            if halt is not None:
                return self._leave(handle, halt)

    def _heard(self, handle: JSON, answer: object) -> Outcome | None:
        """What the answer comes to; None while the work goes on."""
        try:
            status = read_status(answer)
        except ValueError as fault:
            return self._give_up(handle, f"The answer of check() cannot be used: {fault}.")
        if status.progress is not None:
            self._report(*status.progress)
        if status.stage is Stage.FAILED:
            return failed(status.text or "The work has failed, and check() gave no reason.")
        self._say(status)
        return Outcome(ending=Ending.DONE) if status.stage is Stage.SUCCEEDED else None

    def _say(self, status: Status) -> None:
        if status.text and status.text != self._said:
            self._job.log.info("%s", legible(status.text))
            self._said = status.text

    def _leave(self, handle: JSON, halt: Halt) -> Outcome:
        """End the run from outside, and the work too where it is ours to end."""
        ending, error = of_halt(halt, self._limits.timeout_s)
        keeper = self._attachment.keeper(handle)
        if keeper is Keeper.NOBODY or (keeper is Keeper.OURS and halt is Halt.TIMED_OUT):
            trouble = self._cancel(handle)
            if trouble is None and keeper is Keeper.NOBODY:
                self._attachment.ended(handle)
            return Outcome(ending=ending, error=_joined(error, trouble))
        return Outcome(ending=ending, error=f"{error} What it started goes on: {_shown(handle)}")

    def _give_up(self, handle: JSON, error: str) -> Outcome:
        """The run is in error and its handle will be forgotten, so its work may not go on; another claim's may."""
        if self._attachment.keeper(handle) is Keeper.ANOTHER:
            return failed(error)
        return failed(_joined(error, self._cancel(handle)))

    def _cancel(self, handle: object) -> str | None:
        """Why the work could not be told to end; None where it was."""
        for tries_left in reversed(range(CANCEL_TRIES)):
            try:
                settled(self._manager.cancel(handle))
                break
            except BaseException as error:
                trouble = f"cancel() failed, so the work may go on: {account(error)}"
                self._job.log.warning("%s", trouble)
                if not tries_left:
                    return trouble
            time.sleep(min(self._pause_s, POLL_S))
        return None


def _poll_s(manager: ManagesJobs) -> float:
    poll_s = getattr(manager, "poll_s", POLL_S)
    if isinstance(poll_s, bool) or not isinstance(poll_s, int | float) or not 0 < poll_s < math.inf:
        raise ValueError(f"poll_s is {poll_s!r}; it takes a number of seconds above 0")
    return min(max(float(poll_s), POLL_S_MIN), POLL_S_MAX)


def _portable(handle: object) -> JSON:
    """The handle as the next claim will read it; ValueError where the ledger cannot hold it."""
    try:
        text = msgspec.json.encode(handle)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"it is no JSON value: {error}") from None
    if len(text) > HANDLE_BYTES_MAX:
        raise ValueError(f"it has {len(text):,} bytes; the limit is {HANDLE_BYTES_MAX:,}")
    if NUL in text:
        raise ValueError("it holds a NUL character, which no ledger keeps")
    portable = msgspec.json.decode(text)
    if portable is None:
        raise ValueError("it is null, by which nothing can be found again")
    return portable


def _shown(handle: JSON) -> str:
    return msgspec.json.encode(handle).decode()


def _joined(error: str, trouble: str | None) -> str:
    return legible(f"{error}\n{trouble}" if trouble else error)
