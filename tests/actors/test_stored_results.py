"""Results in the ledger: stored with the success, replaced by a rerun, removed with the round."""

from collections.abc import Sequence
from typing import Any

import pytest

from sluice.actors.executor import execution, transactions
from sluice.actors.executor.execution import Execution
from sluice.broker.messages import Message
from sluice.jobs.blobs import BlobStore, BlobsUnavailable
from sluice.jobs.observe.failpoints import Failpoint, Point
from sluice.jobs.policy.tenants import Tenant, Tenants
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ops.simulation.mortal_ledger import SimulatedDeath
from tests.actors.bench import Bench
from tests.actors.ledgers import Counting, Dying

_STORED = """
SELECT round.claim, round.result, round.result_blob IS NOT NULL, coalesce(round.result_pending, false)
FROM round JOIN job ON job.id = round.job WHERE job.app = %(app)s ORDER BY round.claim
"""


def stored(bench: Bench, app: str) -> list[tuple[int, str | None, bool, bool]]:
    """Return the claims of the app's jobs, each with its result, whether it has a blob, and whether it is pending."""
    return bench.world.ledger.transact(lambda tx: tx.rows(_STORED, app=app))


def execution_on(bench: Bench, ledger: Ledger) -> Execution:
    return Execution(
        ledger,
        lambda: bench.world.catalogue,
        bench.holdings,
        bench.worker,
        bench.sent.extend,
        stores=bench.stores,
    )


@pytest.mark.parametrize(
    ("app", "result"),
    [("counts", '{"key":"1","claim":1,"value":null}'), ("counts_later", "1"), ("later", None)],
)
def test_a_result_is_stored_with_the_success(bench: Bench, app: str, result: str | None) -> None:
    bench.run(app)
    assert bench.world.state(app) is State.SUCCEEDED
    assert stored(bench, app) == [(1, result, False, False)]


def test_a_result_that_cannot_be_encoded_fails_the_job_although_tries_are_left(bench: Bench) -> None:
    bench.run("returns_an_object")
    bench.judge()
    assert bench.world.state("returns_an_object") is State.FAILED
    assert "the value at $['rows'][1] has the type builtins.object" in (
        bench.round_of("returns_an_object").error or ""
    )


def test_a_large_result_is_stored_in_the_blob_store(bench: Bench) -> None:
    bench.run("returns_much")
    assert bench.world.state("returns_much") is State.SUCCEEDED
    assert stored(bench, "returns_much") == [(1, None, True, False)]


def test_a_large_result_without_a_blob_store_fails_the_round_with_the_reason(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise BlobsUnavailable("The disk is full.", advice="Clean up.")

    monkeypatch.setattr(BlobStore, "put", broken)
    bench.run("returns_much")
    bench.judge()
    assert bench.world.state("returns_much") is State.READY
    error = "Its result of 300002 bytes could not be stored. The disk is full. Clean up."
    assert bench.round_of("returns_much").error == error


def test_a_rerun_replaces_the_result(bench: Bench) -> None:
    bench.run("counts")
    bench.world.submit("counts", rerun="job", kwargs={"value": "new"})
    bench.hint("counts")
    assert [claim for claim, result, *_ in stored(bench, "counts") if result and "new" in result] == [2]


@pytest.mark.parametrize("lost", [None, False, True])
def test_a_crash_between_run_and_record_leaves_one_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, lost: bool | None
) -> None:
    """The process dies when the run has ended, before the commit of its record, or after it."""
    ledger: Ledger = bench.world.ledger
    with monkeypatch.context() as dying:
        if lost is None:

            def die(point: Point) -> None:
                if point is Failpoint.RUN_ENDED:
                    raise SimulatedDeath

            dying.setattr(execution, "reached", die)
        else:
            ledger = Dying(bench.world, 1, lost=lost)
        bench.running = execution_on(bench, ledger)
        with pytest.raises(SimulatedDeath):
            bench.run("counts")
    if ledger is not bench.world.ledger:
        ledger.close()
    bench.running = execution_on(bench, bench.world.ledger)
    bench.world.tick(after_s=60)
    bench.world.beat(bench.worker)
    if lost:
        assert bench.world.state("counts") is State.SUCCEEDED
    else:
        assert bench.world.state("counts") is State.READY
        bench.hint("counts")
    claim = int(bench.world.field("counts", "claim"))
    results = [result for _, result, *_ in stored(bench, "counts") if result is not None]
    assert results == [f'{{"key":"1","claim":{claim},"value":null}}']


def test_the_result_of_a_run_with_a_transaction_follows_the_commit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    complete = transactions.complete

    def watched(*args: Any, **words: Any) -> Sequence[Message] | None:
        seen.extend([bench.world.state("banks_and_counts"), stored(bench, "banks_and_counts")])
        return complete(*args, **words)

    monkeypatch.setattr(transactions, "complete", watched)
    bench.run("banks_and_counts")
    assert seen == [State.EXECUTED, [(1, None, False, True)]]
    assert stored(bench, "banks_and_counts") == [(1, "1", False, False)]


def test_a_result_after_the_commit_that_cannot_be_encoded_is_an_error_of_the_round(bench: Bench) -> None:
    bench.run("banks_and_returns_an_object")
    bench.judge()
    assert bench.world.state("banks_and_returns_an_object") is State.SUCCEEDED
    error = bench.round_of("banks_and_returns_an_object").error_after_commit
    assert "Its result cannot be stored: the value at $ has the type builtins.object" in (error or "")
    assert stored(bench, "banks_and_returns_an_object") == [(1, None, False, False)]


def test_a_plain_job_costs_seven_statements_with_and_without_a_result(bench: Bench) -> None:
    """A call of a procedure counts as one. A coroutine costs one more: its thread claims none of the children."""
    ledger = Counting(bench.world)
    bench.running = execution_on(bench, ledger)
    statements = []
    for app in ("plain", "counts", "later"):
        before = ledger.statements
        bench.run(app)
        assert bench.world.state(app) is State.SUCCEEDED
        statements.append(ledger.statements - before)
    ledger.close()
    assert statements == [7, 7, 8]


@pytest.mark.parametrize("app", ["returns_much", "counts"])
def test_a_result_above_the_quota_of_the_tenant_fails_the_job_although_tries_are_left(
    bench: Bench, app: str
) -> None:
    bench.world.catalogue.tenant_settings = Tenants({"default": Tenant(result_bytes=10)})
    bench.run(app)
    bench.judge()
    assert bench.world.state(app) is State.FAILED
    assert "and its tenant default has a limit of 10 bytes." in (bench.round_of(app).error or "")
    assert stored(bench, app) == [(1, None, False, False)]


def test_a_result_within_the_quota_of_the_tenant_is_stored(bench: Bench) -> None:
    bench.world.catalogue.tenant_settings = Tenants(
        {"default": Tenant(result_bytes=100), "x": Tenant(result_bytes=1)}
    )
    bench.run("counts")
    assert bench.world.state("counts") is State.SUCCEEDED
