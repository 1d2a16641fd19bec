"""The fewest faults with which a seed still fails, found where it is known what they are."""

import pytest

from sluice.jobs.simulated import Faults
from sluice.ops.simulation.fate import Fault, Kind
from tests.simulation.ground import Ground
from tests.simulation.guards import NO_REPETITION
from tests.simulation.mutants import Mutant
from tests.simulation.run import Violation, simulate
from tests.simulation.shrinking import minimal, shrunk

WILD = Faults(lose=0.3, double=0.3, delay_s_max=4.0, crash_after_commit=0.05, kill_worker_every_s=15.0)


def test_two_faults_that_only_together_do_harm_are_found_among_hundreds() -> None:
    faults = [Fault(kind, f"message {number}") for kind in (Kind.LOST, Kind.LATE) for number in range(200)]
    needed = {faults[17], faults[333]}
    trials = []

    def trial(plan):
        trials.append(plan)
        return plan if needed <= set(plan) else None

    assert set(minimal(faults, trial)) == needed
    assert len(trials) < 100


def test_what_does_not_come_about_any_more_is_left_out_at_once() -> None:
    faults = [Fault(Kind.LOST, f"message {number}") for number in range(100)]
    assert minimal(faults, lambda plan: [fault for fault in plan if fault.whom == "message 7"] or None) == [
        faults[7]
    ]


def test_where_it_fails_by_itself_no_fault_is_left() -> None:
    assert minimal([Fault(Kind.LOST, "a message")], lambda plan: plan) == []


@pytest.mark.timeout(1800)
def test_a_groomer_that_repeats_no_hint_is_shown_by_one_fault(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = Mutant(NO_REPETITION, theme="templates", faults=WILD)
    mutant.apply(monkeypatch)
    seed, violation = next(
        (seed, violation) for seed in mutant.seeds() if (violation := _violation(ground, seed))
    )
    least = shrunk(ground, seed, violation, faults=WILD, theme="templates")
    assert len(violation.happened) > 20
    assert len(least.happened) <= 2
    assert any("the hint to run app" in line or "dies" in line or "killed" in line for line in least.words)
    with pytest.raises(Violation):
        simulate(ground, seed, WILD, "templates", plan=least.happened)


def _violation(ground: Ground, seed: int) -> Violation | None:
    try:
        simulate(ground, seed, WILD, "templates")
    except Violation as violation:
        return violation
    return None
