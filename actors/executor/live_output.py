"""Storage of the output of running jobs, so far.

One thread per process stores it, by one statement for all running jobs that have written something since. A job that is
over within ``AFTER_S`` costs no statement. After that, text is in the ledger within ``EVERY_S`` and the time of the
statement, or a second if there is much of it. So it is kept even if the worker is killed.

Bounds: the text of a job is its kept output, so at most twice ``KEPT_BYTES`` of output and as much of stderr, with the
middle left out. A text of that length is stored at most once a second (``BYTES_PER_S``).

Invariants: a text is stored under the claim of its run, and only until the round of that claim is recorded, which
replaces it (``ledger.lifecycle.rounds``). While the ledger is unreachable, the runs go on, and the texts of that
moment are stored when it is back.
"""

import logging
import math
import time
from threading import Event, Thread

from sluice.jobs.errors import Unreachable
from sluice.jobs.model.job import KEPT_BYTES, NO_ECHO, Echo, GrowingText
from sluice.jobs.model.names import Claim
from sluice.jobs.runners.run_output import shown
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import rounds
from sluice.ledger.lifecycle.rounds import Written

_LOG = logging.getLogger("sluice.executor")

#: Seconds between two checks of the running jobs.
EVERY_S = 0.5
#: Seconds that a job must have been running. Most jobs are shorter, and store their output with their outcome.
AFTER_S = 1.0
#: Bytes of text that are stored of one job in a second, on average: the longest text once.
BYTES_PER_S = 4 * KEPT_BYTES
#: Seconds that the end of the process waits for a statement in progress.
END_S_MAX = 1.0
#: Name of this thread among the parts of a process that an outage of the ledger affects.
_PART = "live output"


class _LiveRun:
    """A run, the sizes of its texts when they were last stored, and the time from which they may be stored again."""

    def __init__(self, began: float) -> None:
        self.due_at = began + AFTER_S
        self.stored: tuple[int, ...] = (0, 0)
        self.texts: tuple[GrowingText, ...] = ()

    def watch(self, output: GrowingText, stderr: GrowingText) -> None:
        self.texts = (output, stderr)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(text.size for text in self.texts) or self.stored


class LiveOutput:
    """Live output of the runs of one process. Adding a run and forgetting it are single operations of a dictionary, so
    that runs need no lock."""

    def __init__(self, ledger: Ledger, *, shows: bool = False) -> None:
        """With ``shows``, the output also goes to the streams of this process."""
        self._ledger = ledger
        self._shows = shows
        self._runs: dict[Claim, _LiveRun] = {}
        self._is_away = False
        self._any = Event()
        self._ended = Event()
        self._thread = Thread(target=self._live, name="live output", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._any.set()
        if self._thread.is_alive():
            self._thread.join(END_S_MAX)

    def echo(self, right: Claim) -> Echo:
        """Return the listener for the output of a run that begins now. Call ``forget`` at its end."""
        run = self._runs[right] = _LiveRun(time.monotonic())
        if not self._any.is_set():
            self._any.set()
        echo = shown() if self._shows else NO_ECHO
        return echo._replace(texts=run.watch)

    def forget(self, right: Claim) -> None:
        self._runs.pop(right, None)

    def store(self, now: float) -> None:
        """Store the new output of all runs, as of this monotonic time. Unreachable if the ledger does not answer."""
        due = {
            right: run
            for right, run in self._runs.copy().items()
            if run.due_at <= now and run.sizes != run.stored
        }
        if not due:
            return
        # Sizes are read before the texts: a text that grows in between is stored again.
        sizes = {right: run.sizes for right, run in due.items()}
        texts = {right: _written(run) for right, run in due.items()}
        self._ledger.transact(lambda tx: rounds.store_live(tx, texts))
        for right, run in due.items():
            run.stored = sizes[right]
            run.due_at = now + _pause_s(texts[right])

    def _live(self) -> None:
        complained: set[type[Exception]] = set()
        while not self._ended.is_set():
            self._any.wait()
            if self._ended.wait(EVERY_S):
                return
            try:
                self.store(time.monotonic())
            except Unreachable as error:
                self._is_away = True
                self._ledger.outages.failed(error, part=_PART)
            except Exception as error:
                # The thread must survive. The outcome of a job has its output in any case.
                if type(error) not in complained:
                    complained.add(type(error))
                    _LOG.exception("the output of running jobs was not stored")
            else:
                self._is_away = False
                self._ledger.outages.answered(part=_PART)
            self._rest()

    def _rest(self) -> None:
        """Let the thread wait for the next run if there is none. A run may begin meanwhile: it is added before the
        event is read, and here the runs are read again after the event is cleared."""
        if self._runs or self._is_away:
            return
        self._any.clear()
        if self._runs:
            self._any.set()


def _written(run: _LiveRun) -> Written:
    output, stderr = (text.text() for text in run.texts)
    return Written(output, stderr)


def _pause_s(written: Written) -> float:
    """Return the seconds until a text of this length may be stored again, so that at most ``BYTES_PER_S`` are."""
    length = len(written.output) + len(written.stderr)
    return math.ceil(length / BYTES_PER_S / EVERY_S) * EVERY_S
