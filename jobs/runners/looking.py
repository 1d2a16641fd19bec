"""One poll of external work: get its status from the user's job manager, or have the manager end the work.

A run that waits for its work polls it repeatedly (``managed``). No run waits for a long-running service. Any worker
that is sent makes one poll (``look``), with a manager of its own. The result is that of a run. No exception of user
code leaves this module.
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

#: Number of consecutive errors of ``check`` that are tolerated, each followed by twice the previous pause. The next
#: error fails the run.
MISSES_MAX = 3
#: Upper and lower bound of the seconds between two polls. They override the manager's ``poll_s``.
POLL_S_MAX, POLL_S_MIN = 3600.0, 0.01
#: Characters of the status text that are stored with the job, for people. The round's output has all of it.
SAID_CHARS = 1000

Maker = Callable[[], ManagesJobs]


class Heard(Struct, frozen=True):
    """Result of a status check. ``status`` is None if the check failed. Then ``trouble`` is the reason, and
    ``give_up`` is set if the check must not be repeated.
    """

    status: Status | None
    trouble: str = ""
    give_up: bool = False


class Look(Struct, frozen=True, kw_only=True):
    """Result of one poll of a long-running service.

    An ``outcome`` ends the round. Otherwise the next poll is due after ``poll_s``, or later if this one was ``missed``.
    ``said`` is the status text for people, ``line`` is for the output.
    """

    outcome: Outcome | None = None
    missed: bool = False
    poll_s: float = POLL_S
    said: str | None = None
    line: str = ""


def ask(manager: ManagesJobs, handle: JSON, *, misses: int) -> Heard:
    """Check the status of the work. ``misses`` is the number of consecutive errors before this check."""
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
        return Heard(None, f"The result of check() cannot be used: {fault}.", give_up=True)


def look(make: Maker, name: JobName, handle: JSON, *, misses: int) -> Look:
    """Poll a long-running service. If the manager fails for good, the work is ended."""
    output = Excerpt()
    log = job_log(name, write=output.add_text, tell=worker_log(name))
    try:
        manager = make()
        poll_s = poll_s_of(manager)
    except BaseException as error:
        # Treated like an error of ``check``: when the manager is fixed, the work still exists.
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
    said = f": {status.text}" if status.text else "."
    return failed(f"The work has ended by itself, although it must run until it is stopped{said}")


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


def _trouble(make: Maker, handle: JSON, heard: Heard) -> Look:
    """End the work and return a failed round. The round's handle will be forgotten, so the work must not continue."""
    return Look(outcome=failed(joined(heard.trouble, end(make, handle))))


def _missed(trouble: str, output: Excerpt, warn: Callable[..., object]) -> Look:
    warn("check() failed and is called again: %s", trouble)
    return Look(missed=True, said=short(f"check() failed: {trouble}"), line=output.text())
