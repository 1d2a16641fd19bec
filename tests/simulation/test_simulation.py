"""The simulation as a test, and tests of the simulation: a harness that cannot fail proves nothing."""

import os
from collections.abc import Callable

import pytest

from actors import planner
from jobs.states import LIVE, sql_list
from ledger import claims, counts, freshness, grooming, partitions, pausing, planning, splitting, workers
from ledger.connection import Ledger
from planner.partitions import Layout
from tests.simulation.__main__ import run_seeds
from tests.simulation.faults import NONE
from tests.simulation.run import Violation, simulate

SEEDS = int(os.environ.get("SLUICE_SIMULATION_SEEDS", "1000" if os.environ.get("CI") == "true" else "200"))
#: So many tests share them, which may run side by side.
SHARES = 10
#: A broken guard has to show within so many seeds.
MUTANT_SEEDS = 250


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("share", range(SHARES))
def test_all_invariants_hold_whatever_the_network_and_the_workers_do(share: int) -> None:
    _, failures = run_seeds([*range(share, SEEDS, SHARES)])
    assert not failures, "\n".join(failures)


def test_a_kind_network_needs_no_repairs(embedded_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without faults every hint arrives, so a groomer that found one missing would hide a bug."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the groomer repaired what nothing had broken")

    monkeypatch.setattr(grooming, "announce_ready", refuse)
    monkeypatch.setattr(grooming, "announce_executed", refuse)
    monkeypatch.setattr(grooming, "take_lost", refuse)
    for seed in range(20):
        simulate(embedded_url, seed, NONE)


def test_a_seed_replays_exactly(embedded_url: str) -> None:
    simulate(embedded_url, 11)
    first = _history(embedded_url)
    simulate(embedded_url, 11)
    assert _history(embedded_url) == first
    assert len(first) > 10


def _sql(module: object, name: str, old: str, new: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A mutant whose statement says something else."""

    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        sql = getattr(module, name)
        assert old in sql, "the mutant mutates nothing"
        monkeypatch.setattr(module, name, sql.replace(old, new))

    return apply


def _code(module: object, name: str, new: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: monkeypatch.setattr(module, name, new)


MUTANTS = {
    "a late worker's result is taken": _sql(claims, "_RECORD", "job.claim = given.claim", "true"),
    "lost hints are not repeated": _code(grooming, "announce_ready", lambda tx, limit: []),
    "lost leases are not noticed": _sql(grooming, "_LOST", "worker.lease_until <", "false AND now() <"),
    "parents' news are not owed": _code(planner.judging, "owe", lambda tx, ended: None),
    "one parent opens the gate": _sql(counts, "_COUNT_DOWN", "gate.unmet = 0,", "gate.unmet >= 0,"),
    "planning takes a parent's word for nothing": _code(
        planning.counts, "recount", lambda tx, children: None
    ),
    "claims of a lost answer are nobody's": _code(workers, "strays", lambda tx, id, known, *, grace_s: []),
    "nobody lends his urgency": _code(planning.urgency, "lend", lambda tx, jobs: None),
    "a parent asked for late forgets what it was lent": _code(
        planning.urgency, "_WAIT_ALREADY", "SELECT 1 WHERE false"
    ),
    "nobody cancels": _code(planner.submissions, "_CANCEL_UNWANTED", "SELECT 1 WHERE false"),
    "a pause leaves what is ready": _code(pausing, "_HOLD_BACK_READY", "SELECT 1 WHERE false"),
    "a pause forgets what is pushed later": _code(pausing, "follow", lambda tx, jobs: []),
    "nobody looks what others have under way": _code(freshness.Past, "busy", lambda past, apps: []),
    "what succeeded is not fresh": _code(freshness, "record", lambda tx, jobs: None),
    "whoever waits to be planned is forgotten": _sql(
        grooming, "_UNPLANNED", "look_at <=", "false AND look_at <="
    ),
    "halves are nobody's": _code(splitting, "_COPY_WANTS", "SELECT 1 WHERE false"),
    "nobody splits": _code(splitting, "_SPLIT", "SELECT 1, '', '[]' WHERE false"),
    "nobody looks what partitions others make": _sql(
        partitions, "_HELD", f"OR job.state IN ({sql_list(*sorted(LIVE))})", ""
    ),
    "what a step has made is not there": _code(partitions, "made", lambda tx, jobs: None),
    "a landing is news to nobody": _code(partitions, "land_jobs", lambda tx, jobs: []),
    "a plan looks for no inputs": _code(Layout, "gates", lambda layout, app, step: ()),
    "skipped and failed parents are forgotten": _code(counts, "strand", lambda tx, jobs: []),
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_guard_is_noticed(mutant: str, embedded_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)
    with pytest.raises(Violation, match=r"replay: python -m tests\.simulation --seed"):
        _simulate_all(embedded_url)


def _simulate_all(url: str) -> None:
    for seed in range(MUTANT_SEEDS):
        simulate(url, seed)


def _history(url: str) -> list[tuple[object, ...]]:
    ledger = Ledger(url, connections=1)
    try:
        return ledger.transact(
            lambda tx: tx.rows(
                "SELECT at, app, key, source, target, transition.claim FROM transition"
                " JOIN job ON job.id = transition.job ORDER BY transition.id"
            )
        )
    finally:
        ledger.close()
