"""The fewest faults with which a seed still fails: of all that went wrong, what has to.

Delta debugging (Zeller and Hildebrandt, ddmin): leave out a part and see whether it fails all the same. First all
faults of a kind, then halves, quarters and so on, until none can be left out alone. What happened in a run that failed
is at most what its plan has, so a fault that does not come about any more is gone as well.
"""

from collections.abc import Callable, Collection, Iterator

from sluice.jobs.simulated import Faults
from sluice.ops.simulation.fate import Fault
from tests.simulation.ground import Ground
from tests.simulation.run import Violation, simulate

#: Nobody waits for more runs than this; what is found by then still fails.
TRIALS_MAX = 1000

#: A run with these faults alone: what happened of them before it failed, or None where it did not.
Trial = Callable[[Collection[Fault]], Collection[Fault] | None]


def shrunk(
    ground: Ground, seed: int, violation: Violation, *, faults: Faults | None = None, theme: str = "anything"
) -> Violation:
    """The violation that the fewest faults lead to; the same where all are needed."""
    least = violation

    def trial(plan: Collection[Fault]) -> Collection[Fault] | None:
        nonlocal least
        try:
            simulate(ground, seed, faults, theme, plan=frozenset(plan))
        except Violation as found:
            least = found
            return found.happened
        return None

    minimal(violation.happened, trial)
    return least


def minimal(faults: Collection[Fault], trial: Trial) -> list[Fault]:
    """Some of these with which it fails, and of which none can be left out alone."""
    left, trials = list(dict.fromkeys(faults)), 0

    def fails(plan: Collection[Fault]) -> list[Fault] | None:
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


def _rests(faults: list[Fault], parts: int) -> Iterator[list[Fault]]:
    """What is left without each part."""
    size = -(-len(faults) // parts)
    for first in range(0, len(faults), size):
        yield faults[:first] + faults[first + size :]


def _or(found: list[Fault] | None, before: list[Fault]) -> list[Fault]:
    return before if found is None else found
