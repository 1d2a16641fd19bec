"""Reads from a server that may hang: the caller waits for a bounded time."""

import logging
from collections.abc import Callable
from threading import Event, Lock, Thread
from time import monotonic
from typing import Generic, TypeVar

from sluice.jobs.errors import SluiceError, Unreachable
from sluice.jobs.observe.outages import missed

T = TypeVar("T")

#: Seconds after which a read that has not ended is given up, and the next caller starts another one: 30, three times
#: the longest wait for a connection to the ledger. A connection may stay silent although the server answers others.
GIVEN_UP_S = 30.0


class BoundedReader(Generic[T]):
    """Reader with one read at a time, in a thread of its own.

    A caller that waits in vain leaves the read running, and the next caller joins it, for up to ``given_up_s``. So the
    number of threads does not depend on the number of callers. ``read`` returns the result or raises SluiceError.
    ``subject`` names the result in the log, which has one line at the begin of an outage and one at its end. A result
    is returned again to callers within ``reuse_s`` seconds. A result that came too late for its callers is returned for
    ``late_s`` seconds to callers for which the next one is too late. So a slow server has values, from one read before.
    """

    def __init__(
        self,
        read: Callable[[], T],
        *,
        subject: str,
        log: logging.Logger,
        reuse_s: float = 0.0,
        late_s: float = 0.0,
        given_up_s: float | None = None,
    ) -> None:
        self._read = read
        self._subject = subject
        self._log = log
        self._reuse_s = reuse_s
        self._late_s = late_s
        self._given_up_s = given_up_s
        self._lock = Lock()
        self._current: _PendingRead[T] | None = None
        self._failed = False

    def start(self) -> "Callable[[float], T | None]":
        """Start a read, or join a running one. Return a function that waits for the result until a time of
        ``monotonic``. It returns None if the read has failed or has not ended by then."""
        with self._lock:
            if self._current is None or not self._is_usable(self._current):
                self._current = _PendingRead(self._current, self._late_s)
                Thread(target=self._run, args=[self._current], name=self._subject, daemon=True).start()
            return self._current.wait

    def result(self, within_s: float) -> T | None:
        """Return the result. None if the read fails or does not end in time."""
        return self.start()(monotonic() + within_s)

    def _is_usable(self, current: "_PendingRead[T]") -> bool:
        """Return whether another caller may have the result of this read."""
        now = monotonic()
        if current.ended_at is not None:
            return now < current.ended_at + self._reuse_s
        return now < current.began + (GIVEN_UP_S if self._given_up_s is None else self._given_up_s)

    def _run(self, current: "_PendingRead[T]") -> None:
        try:
            current.result = self._read()
        except SluiceError as error:
            self._note(error)
        except Exception:
            # A defect of Sluice. The caller knows no value, and the log has the cause.
            if not self._failed:
                self._log.exception("%s: unknown for now", self._subject)
            self._failed = True
        else:
            if self._failed:
                self._log.info("%s: known again", self._subject)
            self._failed = False
        finally:
            current.end()

    def _note(self, error: SluiceError) -> None:
        """Log the begin of an outage, unless the log of the server's outages has it."""
        if isinstance(error, Unreachable) and error.outages is not None:
            missed(error, f"reads without an answer: {self._subject}")
            return
        if not self._failed:
            self._log.warning("%s: unknown for now: %s", self._subject, error)
        self._failed = True


class _PendingRead(Generic[T]):
    """One read, and its result once it has ended. Until then it has the result of the read ``before`` it, if that came
    too late for all of its callers.
    """

    def __init__(self, before: "_PendingRead[T] | None", late_s: float) -> None:
        self.result: T | None = None
        self.began = monotonic()
        self.ended_at: float | None = None
        self._is_returned = False
        self._ended = Event()
        is_late = before is not None and before.ended_at is not None and not before._is_returned
        self._late = before.result if before is not None and is_late else None
        self._late_until = before.ended_at + late_s if before is not None and before.ended_at else 0.0

    def wait(self, until: float) -> T | None:
        if self._ended.wait(max(until - monotonic(), 0.0)):
            self._is_returned = True
            return self.result
        return self._late if monotonic() < self._late_until else None

    def end(self) -> None:
        self.ended_at = monotonic()
        self._ended.set()
