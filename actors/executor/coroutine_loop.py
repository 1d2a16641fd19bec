"""Event loop of a process, on which the coroutines of all its ``async def`` jobs run.

A coroutine holds no thread while it waits. One thread runs the loop, and one records the results, many at a time.

- ``limit`` coroutines run at most. A thread that claims jobs reserves places first, so that no claim waits for a place.
- Each coroutine is checked several times a second. If its run must stop, or is over its timeout, it is cancelled once.
- A result is recorded after its coroutine has ended, even if the process is about to exit (``join``).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from threading import Condition, Event, Thread
from typing import Any, Generic, TypeVar

from sluice.jobs.errors import SluiceError
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.runners.stop_signal import Limits
from sluice.jobs.text.units import counted
from sluice.ledger.lifecycle.claims import ClaimedJob

_LOG = logging.getLogger("sluice.executor")

#: Coroutines that a process runs at the same time, by default.
COROUTINES_MAX = 100
#: Seconds between two checks whether coroutines must stop: 0.1, so that a cancelled job ends within a second.
CHECK_EVERY_S = 0.1
#: Outcome of a run that has not ended.
NEVER_BEGUN = Outcome(ending=Ending.NOT_STARTED, error="its worker was stopped before it began")


class CoroutineRun:
    """Run of one job on the loop. ``outcome`` is set at its end. It is None if the run has committed its own success.
    ``limits`` are set while the code of the job runs."""

    def __init__(self, job: ClaimedJob, stop: Event) -> None:
        self.job = job
        self.stop = stop
        self.limits: Limits | None = None
        self.took_s = 0.0
        self.outcome: Outcome | None = NEVER_BEGUN

    def must_stop(self) -> bool:
        """Return whether the run is over its timeout, or its worker requests a stop."""
        return self.limits is not None and self.limits.reached() is not None


T = TypeVar("T")
#: Returns whether a coroutine must be cancelled now.
MustStop = Callable[[], bool]


class CoroutineLoop(Generic[T]):
    """Loop for coroutines that return a result. ``record`` is called with the results, in a thread of its own.

    ``limit`` may be set before the first coroutine.
    """

    def __init__(self, record: Callable[[list[T]], None]) -> None:
        self.limit = COROUTINES_MAX
        self._record = record
        self._reserved = 0
        self._running = 0
        self._results: list[T] = []
        self._recording = False
        self._closed = False
        self._changed = Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stops: dict[asyncio.Task[None], MustStop] = {}

    def reserve(self, most: int) -> int:
        """Reserve up to ``most`` places, and return their number. Wait while there is none; 0 after ``close``."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._free > 0)
            if self._closed:
                return 0
            places = min(most, self._free)
            self._reserved += places
            return places

    def put_back(self, places: int) -> None:
        """Put back reserved places that are not needed."""
        with self._changed:
            self._reserved -= places
            self._changed.notify_all()

    def start(self, coroutine: Coroutine[Any, Any, T], must_stop: MustStop) -> None:
        """Run a coroutine in a reserved place. It must not raise."""
        with self._changed:
            self._reserved -= 1
            self._running += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._live, args=(self._loop,), name="coroutines", daemon=True).start()
                Thread(target=self._record_results, name="coroutine results", daemon=True).start()
        self._loop.call_soon_threadsafe(self._begin, coroutine, must_stop)

    def close(self) -> None:
        """Reserve no place from now on. Running coroutines continue."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self, timeout_s: float) -> bool:
        """Wait until all coroutines have ended and are recorded. Return False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_idle, timeout_s)

    @property
    def _free(self) -> int:
        return self.limit - self._reserved - self._running

    @property
    def _is_idle(self) -> bool:
        return not (self._running or self._results or self._recording)

    def _live(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        checks = loop.create_task(self._check())
        loop.run_until_complete(checks)

    async def _check(self) -> None:
        """Cancel the coroutines that must stop, until the process ends."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            due = [task for task, must_stop in self._stops.items() if must_stop()]
            for task in due:
                del self._stops[task]
                task.cancel()

    def _begin(self, coroutine: Coroutine[Any, Any, T], must_stop: MustStop) -> None:
        task = asyncio.get_running_loop().create_task(self._run(coroutine))
        self._stops[task] = must_stop
        task.add_done_callback(lambda done: self._stops.pop(done, None))

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> None:
        result = await coroutine
        with self._changed:
            self._running -= 1
            self._results.append(result)
            self._changed.notify_all()

    def _record_results(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._results))
                results, self._results = self._results, []
                self._recording = True
            try:
                self._record(results)
            except SluiceError as error:
                # The next heartbeat hands back the claims, because this process does not know them any more.
                _LOG.error("%s could not be recorded: %s", counted(len(results), "result"), error)
            except Exception:
                # The thread must survive a defect of Sluice: otherwise no result of this process is recorded.
                _LOG.exception("%s could not be recorded", counted(len(results), "result"))
            with self._changed:
                self._recording = False
                self._changed.notify_all()
