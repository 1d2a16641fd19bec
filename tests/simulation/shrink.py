"""Reduction of a failing seed to the fewest faults with which it still fails.

Delta debugging (Zeller and Hildebrandt, ddmin): leave out a part of the faults, and run again to see whether the seed
still fails. First all faults of a kind are left out, then halves, quarters and so on, until no single fault can be left
out. A failed run has at most the faults of its plan. So a fault that no longer happens is dropped, too.
"""

from collections.abc import Callable, Collection, Iterator

from sluice.jobs.simulated import Faults
from sluice.ops.simulation.faults import InjectedFault
from tests.simulation.environment import Ground
from tests.simulation.run import Violation, simulate

#: Runs after which the search stops. The faults that are left by then still fail.
TRIALS_MAX = 1000

#: A run with these faults alone. It returns the faults that happened before it failed, or None if it did not fail.
Trial = Callable[[Collection[InjectedFault]], Collection[InjectedFault] | None]


def shrunk(
    ground: Ground, seed: int, violation: Violation, *, faults: Faults | None = None, theme: str = "anything"
) -> Violation:
    """Return the violation that the fewest faults cause. It is the same one if all are needed."""
    least = violation

    def trial(plan: Collection[InjectedFault]) -> Collection[InjectedFault] | None:
        nonlocal least
        try:
            simulate(ground, seed, faults, theme, plan=frozenset(plan))
        except Violation as found:
            least = found
            return found.happened
        return None

    minimal(violation.happened, trial)
    return least


def minimal(faults: Collection[InjectedFault], trial: Trial) -> list[InjectedFault]:
    """Return faults with which the trial fails, and of which no single one can be left out."""
    left, trials = list(dict.fromkeys(faults)), 0

    def fails(plan: Collection[InjectedFault]) -> list[InjectedFault] | None:
        nonlocal trials
        trials += 1
        happened = trial(plan) if trials <= TRIALS_MAX else None
        return None if happened is None else [fault for fault in plan if fault in set(happened)]

    for kind in sorted({fault.kind for fault in left}):
        left = _or(fails([fault for fault in left if fault.kind is not kind]), left)
    parts = 2
    while left:
        smaller = next((found for rest in _rests(left, parts) if (found := fails(rest)) is not None), None)
        if smaller is not None:
            left, parts = smaller, max(parts - 1, 2)
        elif parts >= len(left):
            break
        else:
            parts = min(2 * parts, len(left))
    return left


def _rests(faults: list[InjectedFault], parts: int) -> Iterator[list[InjectedFault]]:
    """Yield the faults that remain without each part."""
    size = -(-len(faults) // parts)
    for first in range(0, len(faults), size):
        yield faults[:first] + faults[first + size :]


def _or(found: list[InjectedFault] | None, before: list[InjectedFault]) -> list[InjectedFault]:
    return before if found is None else found
