"""One look at work elsewhere: ask the user's job manager how it stands, or have it end the work.

A run that waits for its work looks again and again (``managed``). Of work that goes on until it is stopped nobody waits
for the end: each ``look`` is made by whoever is sent, with a manager of its own, and brings what a run would.
Nothing that user code does leaves here as an exception.
"""

import math
from collections.abc import Callable

from msgspec import Struct

from sluice.jobs.managed import POLL_S, ManagesJobs, Stage, Status, read_status
from sluice.jobs.outcome import Outcome
from sluice.jobs.ref import JobName
from sluice.jobs.runners.call import account, settled
from sluice.jobs.runners.ending import failed
from sluice.jobs.runners.excerpt import Excerpt, legible
from sluice.jobs.runners.joblog import job_log, worker_log
from sluice.jobs.submission import JSON

#: So many errors of ``check`` in a row are borne, each with twice the pause of the last; one more is the run's.
MISSES_MAX = 3
#: No manager is waited for longer than this between two looks, nor less than this.
POLL_S_MAX, POLL_S_MIN = 3600.0, 0.01
#: What is kept of it beside the job, for people; all of it is in the round's output.
SAID_CHARS = 1000

Maker = Callable[[], ManagesJobs]


class Heard(Struct, frozen=True):
    """``status`` is None where there is none to be had: ``trouble`` says why, and whether to ``give_up`` for it."""

    status: Status | None
    trouble: str = ""
    give_up: bool = False


class Look(Struct, frozen=True, kw_only=True):
    """What a look at work came to that is to go on. With an ``outcome`` the round has ended by it; else somebody looks
    again, after ``poll_s``, or later where it was ``missed``. ``said`` is for people, the ``line`` for the output."""

    outcome: Outcome | None = None
    missed: bool = False
    poll_s: float = POLL_S
    said: str | None = None
    line: str = ""


def ask(manager: ManagesJobs, handle: JSON, *, misses: int) -> Heard:
    """How the work stands, after so many errors in a row."""
    try:
        answer = settled(manager.check(handle))
    except BaseException as error:
        # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
        if misses < MISSES_MAX:
            return Heard(None, account(error))
        return Heard(None, f"check() failed {misses + 1} times in a row: {account(error)}", give_up=True)
    try:
        return Heard(read_status(answer))
    except ValueError as fault:
        return Heard(None, f"The answer of check() cannot be used: {fault}.", give_up=True)


def look(make: Maker, name: JobName, handle: JSON, *, misses: int) -> Look:
    """Look at work that is to go on; where no more is to be expected of it, it is ended."""
    output = Excerpt()
    log = job_log(name, write=output.add_text, tell=worker_log(name))
    try:
        manager = make()
        poll_s = poll_s_of(manager)
    except BaseException as error:
        # As with an error of its own ``check``: whoever mends the manager finds the work still there.
        heard = Heard(None, account(error), give_up=misses >= MISSES_MAX)
        return _trouble(make, handle, heard) if heard.give_up else _missed(heard.trouble, output, log.warning)
    heard = ask(manager, handle, misses=misses)
    if heard.give_up:
        return _trouble(lambda: manager, handle, heard)
    if heard.status is None:
        return _missed(heard.trouble, output, log.warning)
    status = heard.status
    if status.stage is not Stage.RUNNING:
        return Look(outcome=stopped(status))
    if status.text:
        log.info("%s", legible(status.text))
    return Look(poll_s=poll_s, said=short(status.text) or None, line=output.text())


def end(make: Maker, handle: JSON) -> str | None:
    """Have the work ended. Why that failed; None where it did not."""
    try:
        settled(make().cancel(handle))
    except BaseException as error:
        return f"cancel() failed, so the work may go on: {account(error)}"
    return None


def stopped(status: Status) -> Outcome:
    """The end of work that was to go on: however it ended, it has failed to do that."""
    if status.stage is Stage.FAILED:
        return of_failed(status)
    said = f": {status.text}" if status.text else "."
    return failed(f"The work has ended by itself, though it is to go on until it is stopped{said}")


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
    """As much of it as is kept beside the job."""
    return legible(text)[:SAID_CHARS]


def _trouble(make: Maker, handle: JSON, heard: Heard) -> Look:
    """The round is in error and its handle will be forgotten, so its work may not go on."""
    return Look(outcome=failed(joined(heard.trouble, end(make, handle))))


def _missed(trouble: str, output: Excerpt, warn: Callable[..., object]) -> Look:
    warn("check() failed and is asked again: %s", trouble)
    return Look(missed=True, said=short(f"check() failed: {trouble}"), line=output.text())
