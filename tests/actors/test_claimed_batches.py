"""Short jobs that are claimed together with a long one."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from sluice.actors.executor.batches import MeanRunTimes
from sluice.broker.messages import Execute, JobRound
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from tests.actors.bench import Acknowledged, Bench
from tests.broker.conftest import until


def test_an_unfinished_run_sets_the_pace_of_an_app_that_has_none() -> None:
    paces = MeanRunTimes()
    paces.note("short", 0.001)
    for app in ("short", "unknown"):
        paces.suppose(app, 0.3)
    assert paces.news() == {"short": 0.001, "unknown": 0.3}


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    return tmp_path / "gate"


@pytest.fixture
def held_up(bench: Bench, gate: Path) -> Iterator[Future[Acknowledged]]:
    """Run three jobs in one thread. The second one runs until the file ``gate`` exists."""
    long = f'[ "$1" != 2 ] || until [ -e {gate} ]; do sleep 0.02; done'
    bench.world.define({"mostly": {"job_id": "{x}", "bash_cmd": f"bash -c '{long}' run {{x}}"}})
    bench.world.submit("mostly", None, keys=["1", "2", "3"])
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(bench.hint, "mostly", "1", "2", "3")
        gate.touch()


def _states(bench: Bench) -> list[State]:
    return [bench.world.state(f"mostly/{key}") for key in "123"]


def test_jobs_claimed_together_with_a_long_run_do_not_wait_for_it(
    bench: Bench, held_up: Future[Acknowledged], gate: Path
) -> None:
    bench.running.start()
    until(lambda: _states(bench) == [State.SUCCEEDED, State.RUNNING, State.READY])
    turn = JobRound(bench.world.known("mostly/3").id, bench.world.round("mostly/3"))
    until(lambda: Execute(app="mostly", jobs=(turn,)) in bench.sent)
    bench.hint("mostly", "3")
    assert _states(bench) == [State.SUCCEEDED, State.RUNNING, State.SUCCEEDED]
    assert not held_up.done()
    gate.touch()
    held_up.result(timeout=30)
    assert _states(bench) == [State.SUCCEEDED] * 3
    assert bench.holdings.known() == []
    rounds = bench.world.ledger.transact(
        lambda tx: tx.rows("SELECT key, ending FROM round JOIN job ON job = job.id ORDER BY key, round.claim")
    )
    assert rounds == [
        ("1", Ending.DONE),
        ("2", Ending.DONE),
        ("3", Ending.NOT_STARTED),
        ("3", Ending.DONE),
    ]


def test_the_heartbeat_no_longer_checks_claims_that_were_handed_back(
    bench: Bench, held_up: Future[Acknowledged]
) -> None:
    bench.running.start()
    until(lambda: _states(bench) == [State.SUCCEEDED, State.RUNNING, State.READY])
    assert [claim.job for claim in bench.holdings.claims()] == [bench.world.known("mostly/2").id]


def test_a_batch_of_longer_runs_than_expected_is_divided(bench: Bench) -> None:
    bench.world.define({"long": {"job_id": "{x}", "bash_cmd": "true"}})
    bench.world.submit("long", None, keys=["1", "2", "3"])
    bench.running.mean_run_times.note("long", 0.02)
    bench.sent.clear()
    bench.hint("long", "1", "2", "3")
    third = JobRound(bench.world.known("long/3").id, bench.world.round("long/3"))
    assert [bench.world.state(f"long/{key}") for key in "123"] == [
        State.SUCCEEDED,
        State.SUCCEEDED,
        State.READY,
    ]
    assert bench.sent == [Execute(app="long", jobs=(third,))]
