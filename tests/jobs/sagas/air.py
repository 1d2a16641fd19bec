"""One flight of scripted steps, run after run. Only pauses and scripts advance its clock."""

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from sluice import Step, retry
from sluice.jobs.model.job import RunContext, idempotency_token
from sluice.jobs.model.names import JobName
from sluice.jobs.policy.retry_delay import Rule
from sluice.jobs.runners.saga_run import blame, call
from sluice.jobs.sagas.answers import Answer
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.environment import Means
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.journal import JournalEntry, JournalReply, Log, MemoryJournal
from sluice.jobs.sagas.result import FlightEnd, RunEnd
from sluice.jobs.sagas.run import fly
from sluice.jobs.sagas.spec import Saga

RUNS_MAX = 200


class Raised:
    """Error in a script that the step raises instead of returning it. It raises a copy each time.

    An exception instance keeps the traceback and context of each time it is raised, so a single instance would grow
    with every example.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Ledger(MemoryJournal):
    """Journal that simulates the loss of a claim.

    ``taken`` means that another worker has the flight. The next run resets it. ``heeded`` counts the calls of ``heed``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.taken = False
        self.heeded = 0

    def read(self) -> Log | None:
        self.taken = False
        return super().read()

    def write(self, entry: JournalEntry) -> JournalReply:
        return JournalReply(stands=False) if self.taken else super().write(entry)

    def heed(self) -> JournalReply:
        self.heeded += 1
        return JournalReply(stands=not self.taken, abort_reason=self.abort_reason)

    @property
    def lines(self) -> list[str]:
        return [f"{each.direction} {each.step} {each.result}" for each in self.entries]


class Air:
    """One flight with scripted steps. ``calls`` lists each call of a step, for example ``do a``.

    Each call of a step takes the next entry of its script, in any run. Without an entry left, the step succeeds. An
    entry is an answer, ``Raised``, or a function that is called with the flight and may return an answer.
    """

    def __init__(self, steps: str = "a b c", **scripted: Sequence[Any]) -> None:
        self.calls: list[str] = []
        self.journal = Ledger()
        self.rules: dict[str, Rule] = {}
        self.scripts = {name.replace("_", " "): list(script) for name, script in scripted.items()}
        self.steps = steps
        self.built = 0
        self.hooks: Sequence[Any] = ()
        self.context: Callable[[], Any] | None = None
        self.debug = Debug()
        self.inputs: Mapping[str, Any] = {"customer": "ann"}
        self.kwargs: Mapping[str, Any] = {}
        self.now_s = 0.0
        self.pauses: list[float] = []
        self.timeout_s = float("inf")
        self.stopping = False
        self.chance = 0.5
        self.log = logging.getLogger("sluice.job")
        self.claim = 0
        self.build: Callable[[Flight], Any] = self._build

    def fly(self) -> RunEnd:
        """Run the flight once."""
        self.claim += 1
        self.stopping = False
        began_s = self.now_s
        means = Means(
            journal=self.journal,
            clock_s=lambda: self.now_s,
            chance=lambda: self.chance,
            pause=self._pause,
            stopped=lambda: self.stopping,
            over_time=lambda: "It is over time." if self.now_s - began_s > self.timeout_s else None,
            call=call,
            blame=blame,
        )
        name = JobName("trip", "ann")
        claimed = RunContext(
            name=name,
            ids=self.inputs,
            kwargs=self.kwargs,
            round=0,
            claim=self.claim,
            token=idempotency_token("trip", "", "ann"),
        )
        saga = Saga(build=self.build, context=self.context, hooks=tuple(self.hooks))
        return fly(saga, claimed, means, logger=self.log, debug=self.debug)

    def lands(self) -> RunEnd:
        """Run the flight again and again, until it is over or waits."""
        for _ in range(RUNS_MAX):
            landing = self.fly()
            if landing.how not in {FlightEnd.HANDED_BACK, FlightEnd.LOST}:
                return landing
        raise AssertionError("it does not land")

    @property
    def called(self) -> str:
        return ", ".join(self.calls)

    def crash(self, flight: Flight) -> None:  # Each step crashes alike.
        """Simulate the death of the worker: nothing later is written to the journal."""
        self.journal.taken = True

    def stop(self, flight: Flight) -> None:  # Each step stops alike.
        """Request that the worker stops."""
        self.stopping = True

    def _pause(self, pause_s: float) -> bool:
        self.pauses.append(pause_s)
        self.now_s += pause_s
        return self.stopping

    def _build(self, flight: Flight) -> Any:  # The steps do not depend on the flight.
        self.built += 1
        return [_Scripted(self, name) for name in self.steps.split()]

    def answers(self, what: str, flight: Flight) -> Any:
        self.calls.append(what)
        script = self.scripts.get(what)
        act = script.pop(0) if script else None
        return raise_or_return(act) if isinstance(act, type | Answer) or not callable(act) else act(flight)


class _Scripted(Step):
    def __init__(self, air: Air, name: str) -> None:
        self.name = name
        self.retry = air.rules.get(name, retry.none())
        self._air = air

    def do(self, flight: Flight) -> Any:
        return self._air.answers(f"do {self.name}", flight)

    def undo(self, flight: Flight) -> Any:
        return self._air.answers(f"undo {self.name}", flight)


def puts(name: str, value: Any, answer: Any = None) -> Callable[[Flight], Any]:
    """Return a script entry that sets a value in the working map and then gives this answer."""

    def act(flight: Flight) -> Any:
        flight.working[name] = value
        return raise_or_return(answer)

    return act


def both(*acts: Callable[[Flight], Any]) -> Callable[[Flight], Any]:
    """Return a script entry that calls all of these in order and gives the answer of the last."""

    def act(flight: Flight) -> Any:
        return [each(flight) for each in acts][-1]

    return act


def raise_or_return(answer: Any) -> Any:
    if isinstance(answer, Raised):
        raise copy(answer.error)
    return answer
