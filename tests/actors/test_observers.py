"""Observers are notified of facts, and cannot do harm."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from sluice.actors.assembly import stores
from sluice.actors.executor.execution import Execution
from sluice.actors.settings.settings import Settings
from sluice.actors.telemetry.counters import Count
from sluice.actors.telemetry.observers import FinishedRun, RunInfo, RunObservers
from sluice.broker.messages import Ended, Executed, Plan
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.reads.run_records import PlannedSubmission
from sluice.ledger.recovery import restoration
from sluice.ledger.stats.event_counters import CounterName
from tests.actors.bench import Bench
from tests.world import LEASE_S, World


class Broken:
    """Observer that fails in every call."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError(name)

        return fail


class Scribe:
    """Observer that records its calls."""

    traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    def __init__(self) -> None:
        self.told: list[str] = []

    def run(self, sight: RunInfo) -> "Scribe":
        origin = sight.origin.submission if sight.origin else "no submission"
        after = [claim.number for claim, _ in sight.after]
        self.told.append(f"run {sight.job.name} of {sight.parcel} for {origin} after {after}")
        return self

    def begin(self, assignment: Assignment) -> None:
        self.told.append(f"begin {assignment.name}")

    def end(self, outcome: Outcome | None) -> None:
        self.told.append(f"end {outcome.ending if outcome else None}")

    def recorded(self, sight: RunInfo, outcome: Outcome, *, refused: bool) -> None:
        self.told.append(f"recorded {outcome.ending}{' in vain' if refused else ''}")

    def lost(self, past: FinishedRun) -> None:
        self.told.append(f"lost {past.stretch.app} claim {past.stretch.claim}")

    def judged(self, past: FinishedRun) -> None:
        self.told.append(f"judged {past.stretch.app} {past.stretch.ending}")

    def planned(self, submission: PlannedSubmission) -> None:
        self.told.append(f"planned {submission.submission}: {submission.reason}")

    def counts(self) -> Mapping[CounterName, Count]:
        return {}

    def close(self) -> None:
        self.told.append("closed")


def watched(bench: Bench, *observers: Any) -> RunObservers:
    observers = RunObservers(bench.world.ledger, observers)
    bench.running = Execution(
        bench.world.ledger,
        lambda: bench.world.catalogue,
        bench.holdings,
        bench.worker,
        bench.sent.extend,
        stores=stores(Settings()),
        observers=observers,
    )
    return observers


def test_an_observer_sees_a_run_from_its_claim_to_its_verdict(bench: Bench) -> None:
    scribe = Scribe()
    observers = watched(bench, scribe)
    bench.world.submit("later", id="s")
    bench.hint("later")
    observers.handled(Plan(submissions=("s",)))
    observers.close()
    assert scribe.told == [
        "run later/1 of 1 for s after []",
        "begin later/1",
        "end done",
        "recorded done",
        "judged later succeeded",
        "planned s: None",
        "closed",
    ]


def test_an_observer_that_fails_in_every_call_does_no_harm(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    observers = watched(bench, Broken())
    bench.run("later")
    assert bench.world.state("later/1") is State.SUCCEEDED
    job = bench.world.known("later/1").id
    for message in (Executed(jobs=(job,)), Ended(jobs=(job,)), Plan(submissions=("s",))):
        observers.handled(message)
    observers.close()
    assert "an observer was not notified" in caplog.text


def test_jobs_run_although_their_origin_cannot_be_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    observers = watched(bench, scribe := Scribe())

    def away(*_: object) -> None:
        raise Unreachable("It is away.")

    monkeypatch.setattr(observers, "_look_at", away)
    bench.run("later")
    assert bench.world.state("later/1") is State.SUCCEEDED
    assert scribe.told[0] == "run later/1 of 1 for no submission after []"


def test_a_finally_lost_run_is_reported_when_its_children_are_notified(world: World) -> None:
    world.apps("a -> b", max_losses=0)
    world.submit("a")
    world.claim("a/1", worker=world.hire())
    world.tick(after_s=60)
    assert world.state("a/1") is State.FAILED
    observers = RunObservers(world.ledger, [scribe := Scribe()])
    observers.handled(Ended(jobs=(world.known("a/1").id,)))
    assert scribe.told == ["lost a claim 1"]


def test_a_lost_run_is_reported_by_the_next_claim_after_a_restoration(world: World) -> None:
    """The restoration raises claim numbers, so the lost claim does not have the number before the next one."""
    world.apps("a", max_losses=3)
    world.submit("a")
    world.claim("a/1")
    world.now += timedelta(seconds=2 * LEASE_S)
    assert world.ledger.transact(restoration.restore) is not None
    world.worker = world.hire()
    world.tick()
    claimed = world.claim("a/1")
    assert claimed is not None
    RunObservers(world.ledger, [scribe := Scribe()]).take_up([claimed])
    assert scribe.told == ["lost a claim 1"]


def test_a_run_is_reported_with_earlier_runs_and_its_submission(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("c", id="first")
    world.submit("c", id="second")
    world.finish("a")
    world.finish("b")
    claimed = world.claim("c/1")
    assert claimed is not None
    observers = RunObservers(world.ledger, [scribe := Scribe()])
    subjects = observers.take_up([claimed])
    assert subjects[claimed.right].submission == "first"
    with observers.at(claimed.right, subjects[claimed.right]) as scene:
        scene.outcome = Outcome(ending=Ending.ERROR)
    assert scribe.told == ["run c/1 of 1 for first after [1, 1]", "end error"]


def test_the_origin_of_a_run_stays_although_its_submission_is_cancelled(world: World) -> None:
    world.apps("a -> b", max_fails=1)
    world.submit("a", id="first", push="wanted")
    claimed = world.claim("a/1")
    assert claimed is not None
    world.submit("a", id="second", push="wanted")
    world.cancel("first")
    world.record(claimed, Ending.ERROR)
    observers = RunObservers(world.ledger, [Scribe()])
    assert observers.take_up([claimed])[claimed.right].submission == "first"
    world.tick(after_s=1)
    again = world.claim("a/1")
    assert again is not None
    assert observers.take_up([again])[again.right].submission == "second"
