"""What a thread has claimed at once: jobs of one app that it has yet to run, and outcomes that it has yet to tell.

Jobs that are mostly short are claimed several at once, and one of them may turn out long. Then what lies behind it is
given back, for others to run, and what has ended before it is written down: neither waits for hours.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import NamedTuple

from sluice.jobs.errors import SluiceError
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.ref import Claim
from sluice.ledger.claims import Claimed

_LOG = logging.getLogger("sluice.executor")

#: A run that takes longer than this holds up what was claimed with it.
HELD_UP_S = 0.3
_LOOK_EVERY_S = 0.1

_HELD_UP = Outcome(ending=Ending.NOT_BEGUN, error="a run before it in its thread took long")
_HELD_BACK = Outcome(ending=Ending.NOT_BEGUN, error="the breaker of its app has opened")


class Taken(NamedTuple):
    """Claimed jobs, and when they were asked for by the clock of ``Holdings``."""

    asked_at: float
    jobs: Sequence[Claimed]


NOTHING_TAKEN = Taken(0.0, ())


class Load:
    """One thread runs it to its end; another one may take away what is held up meanwhile."""

    def __init__(self, jobs: Sequence[Claimed]) -> None:
        self.app = jobs[0].app
        self._ahead = deque(jobs)
        self._outcomes: dict[Claim, Outcome] = {}
        self._began_at = time.monotonic()
        self._lock = Lock()

    def next(self) -> Claimed | None:
        """The job to run now, if one is left."""
        with self._lock:
            self._began_at = time.monotonic()
            return self._ahead.popleft() if self._ahead else None

    def note(self, right: Claim, outcome: Outcome) -> None:
        with self._lock:
            self._outcomes[right] = outcome

    def outcomes(self) -> dict[Claim, Outcome]:
        """What is to be told, by whoever asks: nobody else is given it."""
        with self._lock:
            outcomes, self._outcomes = self._outcomes, {}
            return outcomes

    def held_up(self) -> dict[Claim, Outcome]:
        """What is to be told of all but the job that runs, if that takes long: of those behind it too."""
        with self._lock:
            if time.monotonic() - self._began_at < HELD_UP_S:
                return {}
            outcomes, self._outcomes = self._outcomes, {}
            outcomes.update((job.right, _HELD_UP) for job in self._ahead)
            self._ahead.clear()
            return outcomes

    def hold_back(self) -> None:
        """Give back what has not begun: it is not to be, for now."""
        with self._lock:
            self._outcomes.update((job.right, _HELD_BACK) for job in self._ahead)
            self._ahead.clear()

    @property
    def waits(self) -> bool:
        """Whether anything of it could be held up."""
        with self._lock:
            return bool(self._ahead or self._outcomes)


class Relief:
    """A thread that has ``settle`` see to what is held up, of an app. While nobody has more than the job that he runs
    it does not wake."""

    def __init__(self, settle: Callable[[str, dict[Claim, Outcome]], None]) -> None:
        self._settle = settle
        self._loads: set[Load] = set()
        self._any = Event()
        self._lock = Lock()

    def start(self) -> None:
        """It ends with the process."""
        Thread(target=self._live, name="relief", daemon=True).start()

    def watch(self, load: Load) -> None:
        with self._lock:
            self._loads.add(load)
            self._any.set()

    def forget(self, load: Load) -> None:
        with self._lock:
            self._loads.discard(load)

    def look(self) -> None:
        with self._lock:
            loads = [*self._loads]
            if not loads:
                self._any.clear()
        for load in loads:
            if outcomes := load.held_up():
                self._relieve(load.app, outcomes)
            if not load.waits:
                self.forget(load)

    def _relieve(self, app: str, outcomes: dict[Claim, Outcome]) -> None:
        try:
            self._settle(app, outcomes)
        except SluiceError as error:
            # Their claims are nobody's once their thread is done, and the next beat gives them back.
            _LOG.error("%d outcomes could not be told: %s", len(outcomes), error)

    def _live(self) -> None:
        while self._any.wait():
            self.look()
            time.sleep(_LOOK_EVERY_S)
