"""The simulation as a test, and tests of the simulation: a harness that cannot fail proves nothing."""

import os

import pytest

from actors import executor, planner
from jobs.simulated import NO_FAULTS, Faults
from jobs.states import LIVE, sql_list
from ledger import (
    breakers,
    claims,
    counts,
    finishing,
    freshness,
    grooming,
    partitions,
    pausing,
    planning,
    recording,
    splitting,
    workers,
)
from planner.partitions import Layout
from tests.simulation.__main__ import run_seeds
from tests.simulation.ground import Ground
from tests.simulation.mutants import Mutant, code, sql
from tests.simulation.run import THEMES, Violation, simulate

SEEDS = int(os.environ.get("SLUICE_SIMULATION_SEEDS", "1000" if os.environ.get("CI") == "true" else "200"))
#: So many tests share them, which may run side by side.
SHARES = 10


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("share", range(SHARES))
def test_all_invariants_hold_whatever_the_network_and_the_workers_do(share: int) -> None:
    _, failures = run_seeds([*range(share, SEEDS, SHARES)])
    assert not failures, "\n".join(failures)


def test_a_kind_network_needs_no_repairs(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without faults every hint arrives, so a groomer that found one missing would hide a bug."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the groomer repaired what nothing had broken")

    monkeypatch.setattr(grooming, "announce_ready", refuse)
    monkeypatch.setattr(grooming, "announce_executed", refuse)
    monkeypatch.setattr(grooming, "take_lost", refuse)
    for seed in range(20):
        simulate(ground, seed, NO_FAULTS)


#: Worlds in which much happens.
BUSY = {
    "anything": 1046,
    "templates": 17,
    "chunks": 18,
    "partitions": 1,
    "sagas": 13,
    "trips": 5,
    "breakers": 24,
}


@pytest.mark.parametrize("theme", THEMES)
def test_a_seed_replays_exactly(theme: str, ground: Ground) -> None:
    simulate(ground, BUSY[theme], theme=theme)
    first = _history(ground)
    simulate(ground, BUSY[theme], theme=theme)
    assert _history(ground) == first
    assert len(first) > 50


#: Processes that die, and nothing else that goes wrong.
DEADLY = Faults(crash_before_commit=0.15)
#: Messages that get lost, and answers.
LOSSES = Faults(lose=0.4, crash_after_commit=0.1)

MUTANTS = {
    "a late worker's result is taken": Mutant(
        sql(recording, "_RECORD", "job.claim = given.claim", "true"),
        theme="templates",
        faults=Faults(freeze_worker_every_s=2.0, lose=0.2),
        first=30,
    ),
    "a late worker's success is taken": Mutant(
        sql(finishing, "_FINISH", "job.claim = given.claim", "true"),
        theme="templates",
        faults=Faults(freeze_worker_every_s=2.0, lose=0.2),
        first=30,
    ),
    "who has succeeded tells nobody": Mutant(
        code(executor, "_tell", lambda tx, catalogue, finished, begin: ([], [])), theme="templates", first=1
    ),
    "lost hints are not repeated": Mutant(
        code(grooming, "announce_ready", lambda tx, limit: []), theme="templates", faults=LOSSES
    ),
    "lost leases are not noticed": Mutant(
        sql(grooming, "_LOST", "worker.lease_until <", "false AND now() <"), theme="templates", faults=DEADLY
    ),
    "parents' news are not owed": Mutant(
        code(planner.submissions, "_OWE", "SELECT 1 WHERE false"), theme="templates", faults=DEADLY, first=6
    ),
    "one parent opens the gate": Mutant(
        sql(counts, "_COUNT_DOWN", "gate.unmet = 0,", "gate.unmet >= 0,"), theme="templates", first=4
    ),
    "planning takes a parent's word for nothing": Mutant(
        code(planning.counts, "recount", lambda tx, children: None), theme="templates", first=1
    ),
    "claims of a lost answer are nobody's": Mutant(
        code(workers, "strays", lambda tx, id, known, *, grace_s: []),
        theme="templates",
        faults=Faults(repeat_commit=0.1),
    ),
    "nobody lends his urgency": Mutant(
        code(planning.urgency, "lend", lambda tx, jobs: None), theme="templates", first=4
    ),
    "a parent asked for late forgets what it was lent": Mutant(
        code(planning.urgency, "_WAIT_ALREADY", "SELECT 1 WHERE false"), theme="templates", first=53
    ),
    "nobody cancels": Mutant(
        code(planner.submissions, "_CANCEL_UNWANTED", "SELECT 1 WHERE false"), theme="templates", first=26
    ),
    "an open breaker holds nobody back": Mutant(
        sql(claims, "_CLAIM", "app_pause.app = job.app", "app_pause.app = ''"),
        theme="breakers",
    ),
    "a breaker tries nobody": Mutant(code(breakers, "_choose", lambda tx, app: []), theme="breakers"),
    "a pause leaves what is ready": Mutant(
        code(pausing, "_HOLD_BACK_READY", "SELECT 1 WHERE false"), theme="templates", first=4
    ),
    "a pause forgets what is pushed later": Mutant(
        code(pausing, "follow", lambda tx, jobs: []), theme="templates", first=7
    ),
    "nobody looks what others have under way": Mutant(
        code(freshness.Past, "busy", lambda past, apps: []), theme="chunks", first=12
    ),
    "what succeeded is not fresh": Mutant(code(freshness, "record", lambda tx, jobs: None), theme="chunks"),
    "whoever waits to be planned is forgotten": Mutant(
        sql(grooming, "_UNPLANNED", "look_at <=", "false AND look_at <="), theme="chunks", first=1
    ),
    "halves are nobody's": Mutant(
        code(splitting, "_COPY_WANTS", "SELECT 1 WHERE false"), theme="chunks", first=3
    ),
    "nobody splits": Mutant(
        code(splitting, "_SPLIT", "SELECT 1, '', '[]' WHERE false"), theme="chunks", first=3
    ),
    "nobody looks what partitions others make": Mutant(
        sql(partitions, "_HELD", f"OR job.state IN ({sql_list(*sorted(LIVE))})", ""),
        theme="partitions",
        first=1,
    ),
    "what a step has made is not there": Mutant(
        code(partitions, "made", lambda tx, jobs: None), theme="partitions", first=1
    ),
    "a landing is news to nobody": Mutant(
        code(partitions, "land_jobs", lambda tx, jobs: []), theme="partitions", first=8
    ),
    "a plan looks for no inputs": Mutant(
        code(Layout, "gates", lambda layout, app, step: ()), theme="partitions", first=2
    ),
    "skipped and failed parents are forgotten": Mutant(
        code(counts, "strand", lambda tx, jobs: {}), theme="templates", first=7
    ),
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_guard_is_noticed(mutant: str, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant].apply(monkeypatch)
    with pytest.raises(Violation, match=r"replay: python -m tests\.simulation --seed") as noticed:
        MUTANTS[mutant].show(ground)
    # One that cannot even be called would show at once, and say nothing of the simulation.
    assert not isinstance(noticed.value.__cause__, TypeError)


def _history(ground: Ground) -> list[tuple[object, ...]]:
    return ground.plain.transact(
        lambda tx: tx.rows(
            "SELECT at, app, key, source, target, transition.claim FROM transition"
            " JOIN job ON job.id = transition.job ORDER BY transition.id"
        )
    )
