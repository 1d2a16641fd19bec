"""Calls to a job manager in one test: made as a fleet of workers would, with checks of the answers."""

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from sluice.jobs.job import Claimed
from sluice.jobs.managed import POLL_S, ManagesJobs, Stage, Status, read_status
from sluice.jobs.managers.apart import ask_apart, job_of
from sluice.jobs.runners.call import settled
from sluice.jobs.submission import JSON

T = TypeVar("T")
_LOG = logging.getLogger("sluice.conformance")


class Trial:
    """Calls of one test. Each call uses a new manager object, as in a fleet of workers."""

    def __init__(self, manager: type[ManagesJobs], *, within_s: float, poll_s: float | None) -> None:
        self._manager = manager
        self._within_s = within_s
        self._pause_s: float = poll_s or getattr(manager, "poll_s", None) or POLL_S
        self._handles: list[JSON] = []

    def run(self, job: Claimed) -> JSON:
        return self._kept(settled(self._manager().run(job_of(job))))

    def run_apart(self, job: Claimed) -> JSON:
        """Start the work in another process, which is killed as soon as it has the handle."""
        return self._kept(ask_apart(self._manager, "run", claimed=job, within_s=self._within_s))

    def stage(self, handle: JSON) -> Stage:
        return _read(settled(self._manager().check(handle))).stage

    def stage_unless_it_raises(self, handle: JSON) -> Stage | None:
        """Return the stage of a handle. For an unknown handle a manager may also raise; then None."""
        try:
            answer = settled(self._manager().check(handle))
        except Exception as error:
            _LOG.info("%r is unknown to the job manager: %s", handle, error)
            return None
        return _read(answer).stage

    def stage_apart(self, handle: JSON) -> Stage:
        return _read(ask_apart(self._manager, "check", handle=handle, within_s=self._within_s)).stage

    def cancel(self, handle: JSON) -> None:
        settled(self._manager().cancel(handle))

    def ends(self, handle: JSON, stage: Stage) -> Status:
        """Wait for the end and return its status, which must be this stage."""
        status = self._until(lambda: self._unless_running(handle), f"it has not {stage}")
        insist(status.stage is stage, f"it has not {stage} but {status.stage}: {status.text}")
        return status

    def is_over(self, handle: JSON) -> None:
        """Check that cancelled work ends. After that it must be failed or unknown."""

        def over() -> Stage | None:
            stage = self.stage_unless_it_raises(handle)
            return None if stage is Stage.RUNNING else stage or Stage.FAILED

        stage = self._until(over, "it was cancelled and still runs")
        insist(stage is Stage.FAILED, f"it was cancelled and check() returned {stage}")

    def clear_up(self) -> None:
        """End all work that the test has started. A failure to end it is logged, so that it hides no other failure."""
        for handle in self._handles:
            try:
                self.cancel(handle)
            except Exception as error:
                _LOG.warning("%r may still run: cancel() failed: %s", handle, error)

    def _kept(self, handle: Any) -> JSON:
        """Return the handle as the ledger would return it."""
        insist(handle is not None, "run() returned no handle")
        self._handles.append(handle)
        try:
            kept = msgspec.json.decode(msgspec.json.encode(handle))
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise AssertionError(f"the handle {handle!r} is no JSON value: {error}") from None
        self._handles[-1] = kept
        return kept

    def _unless_running(self, handle: JSON) -> Status | None:
        status = _read(settled(self._manager().check(handle)))
        return None if status.stage is Stage.RUNNING else status

    def _until(self, look: Callable[[], T | None], complaint: str) -> T:
        until = time.monotonic() + self._within_s
        while True:
            found = look()
            if found is not None:
                return found
            insist(time.monotonic() < until, f"{complaint} after {self._within_s:g} s")
            time.sleep(self._pause_s)


def insist(holds: bool, complaint: str) -> None:  # noqa: FBT001  # It reads as a sentence.
    if not holds:
        raise AssertionError(complaint)


def _read(answer: object) -> Status:
    try:
        return read_status(answer)
    except ValueError as fault:
        raise AssertionError(f"check() returned a value that is no status: {fault}") from None
