"""The simulation as a test: invariants under 80 seeds, exact replay, and four broken guards that it must notice.

``test_many_seeds.py`` has a thousand seeds, ``test_mutants.py`` breaks every other guard.
"""

from collections.abc import Collection

import pytest

from sluice.jobs.simulated import NO_FAULTS
from sluice.ledger.recovery import groomer_steps
from tests.simulation import run, test_short
from tests.simulation.environment import Ground
from tests.simulation.guards import assert_noticed
from tests.simulation.removals import ClaimWatch
from tests.simulation.run import REMOVALS, THEMES, simulate
from tests.simulation.seeds import run_on

#: The seed after the last of each theme. ``test_many_seeds.py`` has the next ones.
SEEDS = {"anything": 80} | dict.fromkeys(
    ("partitions", "sagas", "trips", "expansions", "notifications", "removals"), 12
)
#: Number of tests that share the seeds, so that they can run side by side.
SHARES = 4
#: One guard for each of four kinds of fault; ``test_mutants.py`` breaks the others.
GUARDS = (
    "a late worker's result is taken",
    "lost leases are not noticed",
    "one parent opens the gate",
    "a late worker writes the journal",
)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("theme", SEEDS)
@pytest.mark.parametrize("share", range(SHARES))
def test_all_invariants_hold_under_faults_of_network_and_workers(
    theme: str, share: int, ground: Ground
) -> None:
    _, failures = run_on(ground, range(test_short.SEEDS[theme] + share, SEEDS[theme], SHARES), theme)
    assert not failures, "\n".join(failures)


def test_the_groomer_repairs_nothing_if_there_are_no_faults(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without faults every notification arrives. A groomer that found one missing would hide a bug."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the groomer repaired what nothing had broken")

    monkeypatch.setattr(groomer_steps, "announce_ready", refuse)
    monkeypatch.setattr(groomer_steps, "announce_idle", refuse)
    monkeypatch.setattr(groomer_steps, "announce_first", refuse)
    monkeypatch.setattr(groomer_steps, "announce_executed", refuse)
    monkeypatch.setattr(groomer_steps, "take_lost", refuse)
    for seed in range(20):
        simulate(ground, seed, NO_FAULTS)


#: Seeds of worlds with many events.
BUSY = {
    "anything": 1046,
    "templates": 17,
    "chunks": 18,
    "partitions": 22,
    "sagas": 13,
    "trips": 5,
    "breakers": 24,
    "expansions": 68,
    "notifications": 9,
}


@pytest.mark.parametrize("theme", [theme for theme in THEMES if theme != REMOVALS])
def test_a_seed_replays_exactly(theme: str, ground: Ground) -> None:
    simulate(ground, BUSY[theme], theme=theme)
    first = _history(ground)
    simulate(ground, BUSY[theme], theme=theme)
    assert _history(ground) == first
    assert len(first) > 50


def test_a_seed_with_removals_replays_exactly(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history is removed by the end, so the checks have recorded it."""
    watches: list[ClaimWatch] = []

    def watch(dependent: Collection[str]) -> ClaimWatch:
        watches.append(ClaimWatch(dependent))
        return watches[-1]

    monkeypatch.setattr(run, "ClaimWatch", watch)
    for _ in range(2):
        simulate(ground, 4, theme=REMOVALS)
    first, second = (each.history for each in watches)
    assert second == first
    assert len(first) > 50


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("guard", GUARDS)
def test_a_broken_guard_is_noticed(guard: str, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_noticed(guard, ground, monkeypatch)


def _history(ground: Ground) -> list[tuple[object, ...]]:
    return ground.plain.transact(
        lambda tx: tx.rows(
            "SELECT at, app, key, source, target, transition.claim FROM transition"
            " JOIN job ON job.id = transition.job ORDER BY transition.id"
        )
    )
