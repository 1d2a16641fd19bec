"""Reduction to the fewest faults with which a seed still fails, in cases with a known result."""

import pytest

from sluice.jobs.simulated import Faults
from sluice.ops.simulation.faults import FaultKind, InjectedFault
from tests.simulation.environment import Ground
from tests.simulation.guards import NO_REPETITION
from tests.simulation.mutants import Mutant
from tests.simulation.run import Violation, simulate
from tests.simulation.shrink import minimal, shrunk

WILD = Faults(lose=0.3, double=0.3, delay_s_max=4.0, crash_after_commit=0.05, kill_worker_every_s=15.0)


def test_two_faults_that_only_fail_together_are_found_among_hundreds() -> None:
    faults = [
        InjectedFault(kind, f"message {number}")
        for kind in (FaultKind.LOST, FaultKind.LATE)
        for number in range(200)
    ]
    needed = {faults[17], faults[333]}
    trials = []

    def trial(plan):
        trials.append(plan)
        return plan if needed <= set(plan) else None

    assert set(minimal(faults, trial)) == needed
    assert len(trials) < 100


def test_faults_that_no_longer_happen_are_left_out_at_once() -> None:
    faults = [InjectedFault(FaultKind.LOST, f"message {number}") for number in range(100)]
    assert minimal(faults, lambda plan: [fault for fault in plan if fault.whom == "message 7"] or None) == [
        faults[7]
    ]


def test_no_fault_is_left_if_the_trial_fails_without_any() -> None:
    assert minimal([InjectedFault(FaultKind.LOST, "a message")], lambda plan: plan) == []


@pytest.mark.timeout(1800)
def test_a_groomer_without_repetitions_is_exposed_by_at_most_two_faults(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In the world of this seed one lost notification is enough. In others the job needs several faults to be forgotten.
    mutant = Mutant(NO_REPETITION, theme="templates", faults=WILD, first=1)
    mutant.apply(monkeypatch)
    seed, violation = next(
        (seed, violation) for seed in mutant.seeds() if (violation := _violation(ground, seed))
    )
    least = shrunk(ground, seed, violation, faults=WILD, theme="templates")
    assert len(violation.happened) > 20
    assert len(least.happened) <= 2
    assert any(
        "the notification to run app" in line or "dies" in line or "killed" in line for line in least.words
    )
    with pytest.raises(Violation):
        simulate(ground, seed, WILD, "templates", plan=least.happened)


def _violation(ground: Ground, seed: int) -> Violation | None:
    try:
        simulate(ground, seed, WILD, "templates")
    except Violation as violation:
        return violation
    return None
