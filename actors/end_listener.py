"""Listener for the ends of submissions and jobs, shared by everything that waits in one client.

However many calls wait, there is one thread and one connection, which listens and reads. Its statements are prepared
and need no transaction. Each waiting call has a future. The thread marks the awaited submissions, and reads their
states in one statement: when a call begins to wait, when a notification arrives, when the connection is made again, and
every ``CHECK_S`` seconds. So a lost notification delays an end by at most that time.

A submission that was marked when it was submitted need not be read again and again until it is planned.

While the ledger is unreachable, calls go on waiting until their own timeouts.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from socket import socketpair
from threading import Event, Lock, Thread

from sluice.jobs.errors import BadRequest, Unreachable
from sluice.ledger.database import notify
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.notify import Listening
from sluice.ledger.lifecycle import awaited_ends
from sluice.ledger.lifecycle.awaited_ends import Awaited, Progress

#: Name of this thread's connection among the parts of a process that an outage of the ledger affects.
_PART = "end listener"
#: Seconds between two regular checks of everything that is awaited: 5, twice the time in which a broken connection is
#: usually noticed and made again.
CHECK_S = 5.0
#: Seconds before a broken connection is made again.
RECONNECT_S = 1.0
#: Seconds before a submission that could not be marked is read again: 5 ms, as long as a short plan takes, and longer
#: by this factor each time. So its end is noticed late by half of its age at most, or by ``CHECK_S``.
MARK_AGAIN_S, MARK_AGAIN_GROWTH = 0.005, 1.5
#: Submissions that are read by one statement.
AT_ONCE = 1000


class _Wait:
    """One waiting call."""

    def __init__(self, awaited: Awaited) -> None:
        self.awaited = awaited
        self.future: Future[Progress] = Future()
        self.number: int | None = None
        self.is_marked = awaited.is_marked
        self._again_at = 0.0
        self._again_s = MARK_AGAIN_S

    def is_due(self, numbers: set[int] | None) -> bool:
        """Return whether to read it now. ``numbers`` are the numbers of the notified submissions, or None for
        all."""
        if numbers is None or self.number is None or self.number in numbers:
            return True
        return not self.is_marked and time.monotonic() >= self._again_at

    def note(self, progress: Progress) -> None:
        """Note that it was read and is not over."""
        self.number, self.is_marked = progress.number, bool(progress.awaited)
        self._again_at = time.monotonic() + self._again_s
        self._again_s = min(MARK_AGAIN_GROWTH * self._again_s, CHECK_S)

    @property
    def rests_s(self) -> float:
        """Seconds until it must be read again without a notification."""
        return CHECK_S if self.is_marked else self._again_at - time.monotonic()


class EndListener:
    """Listener of one client. Its thread and its connection are opened when the first call waits."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = Lock()
        self._waits: list[_Wait] = []
        self._thread: Thread | None = None
        self._closed = Event()

    @property
    def is_in_use(self) -> bool:
        """True if a call has waited before, so that notifications are received."""
        return self._thread is not None

    def wait(self, awaited: Awaited) -> "Future[Progress]":
        """Return a future of the end. Its exception is BadRequest if the submission does not exist. A cancelled future
        is forgotten."""
        wait = _Wait(awaited)
        with self._lock:
            if self._closed.is_set():
                raise BadRequest("The client is closed, and cannot wait.")
            self._waits.append(wait)
            if self._thread is None:
                self._interrupter, self._wakes = socketpair()
                self._interrupter.settimeout(0)
                self._wakes.settimeout(0)
                self._thread = Thread(target=self._live, name="end listener", daemon=True)
                self._thread.start()
            self._wake()
        return wait.future

    def close(self) -> None:
        """Close the connection and cancel everything that waits."""
        with self._lock:
            self._closed.set()
            thread, self._thread = self._thread, None
        if thread is None:
            return
        self._wake()
        thread.join()
        self._interrupter.close()
        self._wakes.close()
        for wait in self._waits:
            wait.future.cancel()

    def _wake(self) -> None:
        try:
            self._wakes.send(b".")
        except BlockingIOError:
            return  # The thread has more than enough to read, and so is awake.

    def _live(self) -> None:
        while not self._closed.is_set():
            try:
                with self._ledger.apart() as (connection, begin):
                    self._serve(notify.listen(connection, notify.ENDS), begin)
            except Unreachable as error:
                self._ledger.outages.failed(error, part=_PART)
                self._closed.wait(RECONNECT_S)
            except Exception as error:
                # Each waiting call raises the error, and a later call is a new attempt.
                self._fail(error)
                self._closed.wait(RECONNECT_S)
        self._ledger.outages.answered(part=_PART)

    def _serve(self, listener: Listening, begin: Callable[[], Tx]) -> None:
        """Serve the waits. At first all of them are read, because notifications may have been lost."""
        numbers: set[int] | None = None
        check_at = time.monotonic() + CHECK_S
        while not self._closed.is_set():
            rests_s = self._read(numbers, begin)
            self._ledger.outages.answered(part=_PART)
            left_s = min(rests_s, check_at - time.monotonic())
            words = listener.words(self._interrupter, max(0.0, left_s))
            self._drain()
            # Any role of the database may send payloads to the channel.
            numbers = {int(word) for word in words if word.isdecimal()}
            if time.monotonic() >= check_at:
                numbers, check_at = None, time.monotonic() + CHECK_S

    def _drain(self) -> None:
        try:
            self._interrupter.recv(4096)
        except BlockingIOError:
            return

    def _read(self, numbers: set[int] | None, begin: Callable[[], Tx]) -> float:
        """Read the submissions that are due. Return the seconds until another one is due without a notification."""
        with self._lock:
            self._waits = [wait for wait in self._waits if not wait.future.cancelled()]
            due = [wait for wait in self._waits if wait.is_due(numbers)]
        for start in range(0, len(due), AT_ONCE):
            self._read_some(due[start : start + AT_ONCE], begin())
        with self._lock:
            self._waits = [wait for wait in self._waits if not wait.future.done()]
            return min((wait.rests_s for wait in self._waits), default=CHECK_S)

    def _read_some(self, waits: Sequence[_Wait], tx: Tx) -> None:
        if unmarked := {wait.awaited.submission for wait in waits if not wait.is_marked}:
            awaited_ends.mark(tx, sorted(unmarked))
        found = awaited_ends.read(tx, [wait.awaited for wait in waits])
        for wait, progress in zip(waits, found, strict=True):
            if progress.number is None:
                _end(wait, BadRequest(f"There is no submission {wait.awaited.submission}."))
            elif progress.is_over:
                _end(wait, progress)
            else:
                wait.note(progress)

    def _fail(self, error: Exception) -> None:
        with self._lock:
            waits, self._waits = self._waits, []
        for wait in waits:
            _end(wait, error)


def _end(wait: _Wait, outcome: Progress | Exception) -> None:
    if not wait.future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, Exception):
        wait.future.set_exception(outcome)
    else:
        wait.future.set_result(outcome)
