"""Journal of a flight: the entries that a run reads, and the claims that may write them."""

import msgspec
import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.sagas.flight import Working
from sluice.jobs.sagas.journal import EntryResult, Failure
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.driver import Row
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.sagas import journals
from tests.ledger.flights import Sagas, awaits, came, did, switched, undid
from tests.world import LEASE_S, World


@pytest.fixture
def sagas(world: World) -> Sagas:
    world.apps("a")
    world.submit("a")
    return Sagas(world)


def test_a_flight_that_has_not_begun_has_an_empty_journal(sagas: Sagas) -> None:
    log = sagas.read(sagas.claim())
    assert log is not None
    assert (log.last, log.failure, log.events, log.overdue, log.abort_reason) == (None, None, (), False, None)


def test_the_next_run_reads_the_entries_of_the_last_run(sagas: Sagas) -> None:
    first = sagas.claim()
    assert sagas.write(first, did(1, working={"ABC": "foo", "n": [1, 2.5, None, {"ü": True}]})).stands
    sagas.end(first, Ending.HANDED_BACK)
    second = sagas.claim()
    log = sagas.read(second)
    assert log is not None
    assert log.last == did(1, working={"ABC": "foo", "n": [1, 2.5, None, {"ü": True}]})
    assert (second.flight, second.saga_open, second.claim) == (first.flight, True, first.claim + 1)


@pytest.mark.parametrize("number", [1e300, 1e16, 123456789012345680000.0, 5.0, -0.0, 1e-300, 2**63 - 1])
def test_a_number_is_read_from_the_journal_as_it_was_written(sagas: Sagas, number: float) -> None:
    claimed = sagas.claim()
    for _ in range(2):
        assert sagas.write(claimed, did(1, working=Working({"b": number, "a": 1}).kept())).stands
    log = sagas.read(claimed)
    assert log is not None
    assert log.last is not None
    again = Working(log.last.working)
    assert repr([again["b"], *again]) == repr([number, "b", "a"])


def test_a_run_reads_the_last_entry_the_failure_and_all_step_names(sagas: Sagas) -> None:
    claimed = sagas.claim()
    for entry in (did(1), did(2), switched(3, 2), undid(4, 2), undid(5, 1)):
        assert sagas.write(claimed, entry).stands
    log = sagas.read(claimed)
    assert log is not None
    assert log.last == undid(5, 1)
    assert log.failure == Failure(type="ValueError", message="x"), "of the do that began it"
    assert log.names == {entry.step: entry.name for entry in (did(1), did(2), switched(3, 2))}


def test_a_failed_undo_keeps_the_error_of_the_do(sagas: Sagas) -> None:
    claimed = sagas.claim()
    for entry in (did(1), switched(2, 1), undid(3, 1, EntryResult.UNDO_FAILED)):
        sagas.write(claimed, entry)
    log = sagas.read(claimed)
    assert log is not None
    assert log.last is not None
    assert (log.last.failure, log.failure) == (
        undid(3, 1, EntryResult.UNDO_FAILED).failure,
        switched(2, 1).failure,
    )


def test_an_entry_may_be_written_again_if_the_answer_was_lost(sagas: Sagas) -> None:
    claimed = sagas.claim()
    assert sagas.write(claimed, did(1, working={"a": 1})).stands
    assert sagas.write(claimed, did(1, working={"a": 1})).stands
    assert sagas.write(claimed, did(2)).stands


def test_an_entry_that_differs_or_leaves_a_gap_raises_an_error(sagas: Sagas) -> None:
    claimed = sagas.claim()
    sagas.write(claimed, did(1, working={"a": 1}))
    with pytest.raises(AssertionError, match="entry 1"):
        sagas.write(claimed, did(1, working={"a": 2}))
    with pytest.raises(AssertionError, match="entry 3"):
        sagas.write(claimed, did(3))


def test_a_worker_that_comes_back_late_writes_nothing(sagas: Sagas) -> None:
    late = sagas.claim()
    sagas.write(late, did(1))
    sagas.world.tick(after_s=LEASE_S + 1)
    assert not sagas.write(late, did(2)).stands
    second = sagas.claim()
    assert not sagas.write(late, did(2)).stands
    assert not sagas.heed(late).stands
    assert sagas.read(late) is None
    log = sagas.read(second)
    assert log is not None
    assert log.last == did(1)


def test_the_same_entry_under_another_claim_is_not_a_repetition(sagas: Sagas) -> None:
    first = sagas.claim()
    sagas.write(first, did(1))
    sagas.end(first, Ending.HANDED_BACK)
    with pytest.raises(AssertionError):
        sagas.write(sagas.claim(), did(1))


def test_a_failure_with_any_text_is_stored(sagas: Sagas) -> None:
    claimed = sagas.claim()
    failure = Failure(type="ValueError", message="a\x00b\ud800", traceback="x" * 100_000)
    sagas.write(claimed, msgspec.structs.replace(switched(1, 0), failure=failure))
    log = sagas.read(claimed)
    assert log is not None
    assert log.failure is not None
    assert log.failure.message == "ab?"
    assert 1000 < len(log.failure.traceback) < 100_000


def test_a_wait_is_overdue_once_its_time_is_up(sagas: Sagas) -> None:
    claimed = sagas.claim()
    sagas.write(claimed, awaits(1, "approved", within_s=10))
    assert not _overdue(sagas, claimed)
    sagas.world.tick(after_s=9.9)
    assert not _overdue(sagas, claimed)
    sagas.world.tick(after_s=0.1)
    assert _overdue(sagas, claimed)
    sagas.write(claimed, came(2, None))
    assert not _overdue(sagas, claimed)


@pytest.mark.parametrize("within_s", [None, 1e300])
def test_a_wait_may_have_no_end(sagas: Sagas, within_s: float | None) -> None:
    claimed = sagas.claim()
    sagas.suspend(claimed, 1, within_s=within_s)
    sagas.world.tick(after_s=86400 * 365)
    assert sagas.world.state("a") is State.SUSPENDED


def test_meters_are_visible_at_once_and_late_workers_cannot_write_them(sagas: Sagas) -> None:
    claimed = sagas.claim()
    assert _meters(sagas, claimed, 1, 4) == [(0, "files", 1, 4)]
    assert _meters(sagas, claimed, 2, None) == [(0, "files", 2, None)]
    sagas.world.tick(after_s=LEASE_S + 1)
    assert _meters(sagas, claimed, 3, 4) == [(0, "files", 2, None)], "of a late worker nothing is shown"


def _overdue(sagas: Sagas, claimed: ClaimedJob) -> bool:
    log = sagas.read(claimed)
    assert log is not None
    return log.overdue


def _meters(sagas: Sagas, claimed: ClaimedJob, done: int, total: int | None) -> list[Row]:
    """Write a meter. Return all meters after that."""

    def work(tx: Tx) -> list[Row]:
        journals.record_progress(tx, claimed.right, claimed.flight, "files", done=done, total=total)
        return tx.rows("SELECT flight, name, done, total FROM saga_progress")

    return sagas.world.ledger.transact(work)
