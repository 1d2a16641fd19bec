"""Scripts for one job. Each line has a step, the standing of the job after it, and the new keys of its record.

In ``ends ok       executed/0/0/0   0:output 0:error 0:executed`` the step has two words. A standing is the state, the
round, the failures, the timeouts, and the losses if there are any. ``open`` means that the job waits or is ready.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from sluice.actors.client import Client
from sluice.actors.executor import transactions
from sluice.broker.messages import Message, Tick
from sluice.jobs.model.history import JobReport
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import TERMINAL, State
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.world import LEASE_S, World

OUTCOMES = {
    "ok": Outcome(ending=Ending.DONE, output="out\n"),
    "fail": Outcome(ending=Ending.ERROR, error="wrote to stderr: boom", output="out\n", stderr="boom\n"),
    "over": Outcome(ending=Ending.TIMED_OUT, error="It ran over its timeout.", output="so far\n"),
    "back": Outcome(ending=Ending.HANDED_BACK, error="its worker was stopped before it ended"),
}


class Story(NamedTuple):
    """Script for one job, and the policy of its submission."""

    title: str
    policy: dict[str, object]
    script: str


class Line(NamedTuple):
    """Step of a script. ``gained`` has the keys that are in the record from then on."""

    step: str
    standing: str
    gained: set[str]


def lines(script: str) -> Iterator[Line]:
    for line in script.strip().splitlines():
        step, standing, *gained = (part.strip() for part in line.split("  ") if part.strip())
        yield Line(step, standing, set(" ".join(gained).split()))


class Stage:
    """World with one app ``a``, its job ``a/1``, and two workers. Messages of executors reach the planner at the step
    ``judged``. The workers send heartbeats, except in steps that end their leases."""

    def __init__(self, world: World, policy: dict[str, object]) -> None:
        self.world = world
        self._policy = policy
        self._held: list[Message] = []
        self._claims: dict[str, ClaimedJob] = {}
        self._workers = {"w1": world.worker, "w2": world.hire()}
        self._client = Client(world.ledger, lambda messages: None)
        world.apps("a")

    def plays(self, step: str) -> None:
        verb, *words = step.split()
        getattr(self, f"_{verb}")(*words)

    def report(self) -> JobReport:
        found = self._client.job("a", "1")
        assert found is not None
        return found

    def standing(self) -> str:
        found = self.report()
        is_open = found.state in (State.WAITING, State.READY)
        numbers = [found.round, found.fails, found.timeouts, *([found.losses] if found.losses else [])]
        if found.state not in TERMINAL:
            assert found.round == found.fails + found.timeouts + found.losses
        return "/".join(map(str, ["open" if is_open else found.state, *numbers]))

    def _submit(self, *words: str) -> None:
        self.world.submit("a", policy=self._resolved(), **({"rerun": "job"} if words else {}))

    def _resolved(self) -> dict[str, object]:
        """Return the policy, with times relative to now."""
        times = {"start_after", "end_before"}
        return {
            word: (self.world.now + timedelta(seconds=float(str(value)))).isoformat()
            if word in times
            else value
            for word, value in self._policy.items()
        }

    def _claim(self, worker: str = "w1") -> None:
        claimed = self.world.claim("a", worker=self._workers[worker])
        assert claimed is not None, f"{worker} may not claim it"
        self._claims[worker] = claimed

    def _unclaimable(self) -> None:
        assert self.world.claim("a", worker=self._workers["w1"]) is None

    def _ends(self, outcome: str, worker: str = "w1") -> None:
        messages, refused = transactions.record(
            self.world.ledger, {self._claims[worker].right: OUTCOMES[outcome]}
        )
        assert not refused
        self._held += messages

    def _late(self, outcome: str, worker: str = "w1") -> None:
        """Record a late outcome. Check that it changes neither the job, nor its history, nor the record of its
        round."""
        before = self.report()
        right = self._claims[worker].right
        messages, refused = transactions.record(self.world.ledger, {right: OUTCOMES[outcome]})
        assert (messages, refused) == ([], [right])
        after = self.report()
        assert (after.state, dict(after.record), after.log) == (before.state, dict(before.record), before.log)

    def _judged(self) -> None:
        self.world.queue.extend(self._held)
        self._held.clear()
        self.world.deliver()

    def _after(self, seconds: str) -> None:
        """Let time pass while the workers live, then tick the groomer."""
        self.world.now += timedelta(seconds=float(seconds))
        for worker in self._workers.values():
            self.world.beat(worker)
        self.world.queue.append(Tick())
        self.world.deliver()

    def _unseen(self, seconds: str) -> None:
        """Let time pass while the workers live, without a tick of the groomer."""
        self.world.now += timedelta(seconds=float(seconds))
        for worker in self._workers.values():
            self.world.beat(worker)

    def _lost(self) -> None:
        """Let the leases end. One worker sends a heartbeat again after the groomer's tick."""
        self.world.tick(after_s=LEASE_S + 1)
        self.world.beat(self._workers["w2"])

    def _cancel(self) -> None:
        (submission,) = self.world.ledger.transact(lambda tx: tx.column("SELECT id FROM submission"))
        self.world.cancel(submission)
