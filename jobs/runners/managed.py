"""Work that runs elsewhere: started or found again by the user's job manager, and asked about until it ends.

A run that is stopped ends the work only where the ledger says that nobody else looks after it
(``jobs.managed.Keeper``): the job was cancelled, has expired, was timed out or given up. A worker that leaves
hands the job back and the work goes on; a worker whose claim was taken over keeps its hands off. Over
``timeout_s``, which counts from the claim, the work is ended as well, unless it is another claim's by then.

That is asked and then done, not both at once. Where a job is cancelled and wanted anew in between, its new
claim may find the old work by its token just before it is ended, and fails once.
"""

import threading
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from sluice.jobs.errors import SluiceError
from sluice.jobs.job import Acknowledge, Assignment, Job, Report
from sluice.jobs.managed import POLL_S, Attachment, Keeper, ManagesJobs, Stage, Status
from sluice.jobs.masking import masked_value
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.request_limits import NUL
from sluice.jobs.runners.call import account, settled
from sluice.jobs.runners.ending import failed, of_halt
from sluice.jobs.runners.excerpt import Excerpt, legible
from sluice.jobs.runners.joblog import job_log, worker_log
from sluice.jobs.runners.limits import Halt, Limits
from sluice.jobs.runners.looking import ask, joined, of_failed, poll_s_of
from sluice.jobs.submission import JSON

#: Work is told to end so often, if telling it fails.
CANCEL_TRIES = 3
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
        acknowledge: Acknowledge | None = None,
        **_: object,
    ) -> Outcome:
        """There is no ``job.transaction()``: what commits with it would be the job's success."""
        limits = Limits(stop, assignment.timeout_s)
        output = Excerpt(assignment.echo.stdout)
        log = job_log(assignment.name, write=output.add_text, tell=worker_log(assignment.name))
        job = Job(
            assignment,
            report=report,
            log=log,
            cancelled=lambda: limits.reached() is not None,
            acknowledge=acknowledge,
        )
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
            stop=stop,
            report=report,
            pause_s=pause_s,
            # Without a ledger nobody is sent to look.
            leaves=output.text if assignment.app.unbounded and attachment else None,
        )
        return replace(watch.outcome(), output=output.text())


class _Unattached:
    """For a run without a ledger: nobody else will ever look after what it has started."""

    handle = None

    def keep(self, _: JSON, *, look_every_s: float | None = None, said: str = "") -> bool:  # noqa: ARG002  # Of no use here.
        return True

    def keeper(self, _: JSON) -> Keeper:
        return Keeper.NOBODY

    def ended(self, _: JSON) -> None:
        """There is nothing to forget."""

    def not_ended(self, _: JSON) -> None:
        """Whoever runs a job like that is there to hear of it."""


class _Watch:
    """One run: start the work or find it again, look until it has ended, or leave it.

    ``leaves`` is for work that goes on until it is stopped: the run is over once that has begun."""

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
        leaves: Callable[[], str] | None,
    ) -> None:
        self._manager = manager
        self._job = job
        self._attachment = attachment
        self._limits = limits
        self._stop = stop
        self._report = report
        self._pause_s = pause_s
        self._leaves = leaves
        self._said = ""
        self._left = [*(job.partitions or ())]

    def outcome(self) -> Outcome:
        found = self._attachment.handle
        if found is not None:
            self._job.log.info("found again what an earlier claim has started: %s", _shown(found))
            return self._go_on(found)
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
            return failed(joined(f"The handle that run() returned cannot be kept: {fault}.", trouble))
        return self._go_on(handle, new=True)

    def _go_on(self, handle: JSON, *, new: bool = False) -> Outcome:
        """Stay with the work; or ``leaves`` it, with what was said so far, to whoever is sent to look."""
        if self._leaves is not None:
            kept = self._attachment.keep(handle, look_every_s=self._pause_s, said=self._leaves())
            return Outcome(ending=Ending.GOES_ON) if kept else self._leave(handle, Halt.STOPPED)
        if new and not self._attachment.keep(handle):
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
            heard = ask(self._manager, handle, misses=misses)
            if heard.give_up:
                return self._give_up(handle, heard.trouble)
            if heard.status is None:
                misses += 1
                self._job.log.warning("check() failed and is asked again: %s", heard.trouble)
            else:
                misses = 0
                outcome = self._heard(heard.status, handle)
                if outcome is not None:
                    return outcome
            self._stop.wait(self._limits.within_s(self._pause_s * 2**misses))
            halt = self._limits.reached()
            if halt is not None:
                return self._leave(handle, halt)

    def _heard(self, status: Status, handle: JSON) -> Outcome | None:
        """What the answer comes to; None while the work goes on."""
        if status.progress is not None:
            self._report(*status.progress)
        try:
            self._acknowledge(status.done)
        except SluiceError as error:
            return self._give_up(handle, error.what)
        if status.stage is Stage.FAILED:
            return of_failed(status)
        self._say(status)
        return Outcome(ending=Ending.DONE) if status.stage is Stage.SUCCEEDED else None

    def _acknowledge(self, done: Sequence[str]) -> None:
        """What is made since the last look; an earlier claim, or round, may have told of others."""
        for partition in [each for each in self._left if each in done]:
            self._job.done(partition)
            self._left.remove(partition)

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
            if keeper is Keeper.NOBODY:
                (self._attachment.not_ended if trouble else self._attachment.ended)(handle)
            return Outcome(ending=ending, error=joined(error, trouble))
        return Outcome(ending=ending, error=f"{error} What it started goes on: {_shown(handle)}")

    def _give_up(self, handle: JSON, error: str) -> Outcome:
        """The run is in error and its handle will be forgotten, so its work may not go on; another claim's may."""
        if self._attachment.keeper(handle) is Keeper.ANOTHER:
            return failed(error)
        return failed(joined(error, self._cancel(handle)))

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
    return msgspec.json.encode(masked_value(handle)).decode()
