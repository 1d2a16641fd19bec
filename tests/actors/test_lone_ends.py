"""Ends of single jobs that are recorded in one round trip."""

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest

from sluice.actors.assembly import stores
from sluice.actors.executor import transactions
from sluice.actors.executor.batches import ClaimedBatch
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.execution import Execution
from sluice.actors.executor.job_services import RunJournal
from sluice.actors.executor.lone_ends import PASSED_OVER, LoneEnds
from sluice.actors.executor.transactions import Capacity, SettleResult
from sluice.actors.settings.settings import Settings
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.observe.failpoints import Failpoint, Point
from sluice.jobs.sagas.journal import Direction, JournalEntry, JournalReply
from sluice.jobs.states import State
from sluice.ledger.database import connection
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.world import World

_DONE = Outcome(ending=Ending.DONE, output="√")
_HISTORY = """
SELECT app, key, source, target, verb, by, transition.round
FROM transition JOIN job ON job.id = transition.job ORDER BY transition.id
"""
_SETTLED = {Failpoint.LONE_END_COMMITTED, Failpoint.SETTLE_COMMITTED}


@pytest.fixture
def ledger(world: World) -> Iterator[Ledger]:
    """Ledger of a worker, with the clock of the world."""
    with closing(Ledger(world.url, connections=1, steady=True, clock=lambda: world.now)) as ledger:
        yield ledger


def _settle(
    world: World, ledger: Ledger, claimed: ClaimedJob, outcome: Outcome = _DONE, *, takes_on: bool = True
) -> SettleResult | None:
    capacity = Capacity(world.worker, lambda _: takes_on, lambda _: 1)
    name = JobName(claimed.app, claimed.key)
    return transactions.settle_alone(ledger, world.catalogue, name, (claimed.right, outcome), capacity)


def _request(world: World, app: str, key: str = "1") -> None:
    """Submit a job, and all that it needs. Its submission watches this job, so that no end before it concerns the
    submission."""
    number = world.submit(app, key)
    watch = "UPDATE submission SET blocking_job = %(job)s WHERE id = %(id)s"
    job = world.known(f"{app}/{key}").id
    world.ledger.transact(lambda tx: tx.write(watch, job=job, id=number))


def _history(world: World) -> list[object]:
    return [*world.ledger.transact(lambda tx: tx.rows(_HISTORY))]


def test_a_hop_of_a_chain_is_one_round_trip(world: World, ledger: Ledger) -> None:
    world.apps("a -> b -> c -> d")
    _request(world, "d")
    settled = _settle(world, ledger, world.take("a"))
    assert settled
    trips = ledger.round_trips()
    settled = _settle(world, ledger, settled.taken[0])
    assert ledger.round_trips() == trips + 1
    assert settled
    assert (settled.messages, settled.refused, [job.app for job in settled.taken]) == ([], [], ["c"])
    assert world.states() == {"a": "succeeded", "b": "succeeded", "c": "running", "d": "waiting"}
    assert world.record(settled.taken[0])


def test_a_hop_in_one_round_trip_writes_the_same_as_several_statements(world: World, ledger: Ledger) -> None:
    world.apps("a -> b")
    for key in ("1", "2"):
        _request(world, "b", key)
    assert _settle(world, ledger, world.take("a/1"))
    capacity = Capacity(world.worker, lambda _: True, lambda _: 1)
    claimed = world.take("a/2")
    names = {claimed.id: JobName("a", "2")}
    transactions.settle(world.ledger, world.catalogue, {claimed.right: _DONE}, capacity, names=names)
    rows = [*world.ledger.transact(lambda tx: tx.rows(_HISTORY))]
    by_key = {key: [(app, *rest) for app, its, *rest in rows if its == key] for key in ("1", "2")}
    assert by_key["1"] == by_key["2"]
    assert world.states() == {"a": "succeeded", "a/2": "succeeded", "b": "running", "b/2": "running"}


def test_the_end_of_a_job_that_opens_nothing_is_one_round_trip(world: World, ledger: Ledger) -> None:
    world.apps("a -> c, b -> c")
    _request(world, "c")
    world.take("a")
    b = world.take("b")
    settled = _settle(world, ledger, b)
    assert settled
    assert settled.taken == []
    assert (world.state("b"), world.state("c")) == ("succeeded", "waiting")


_OTHER_ENDS = {
    "two children": ("a -> b, a -> c", {}),
    "a child of a pool": ("a -> b", {"concurrency": 2}),
    "a child with a rate limit": ("a -> b", {"rate_limit": "9/s"}),
}


@pytest.mark.parametrize("case", sorted(_OTHER_ENDS))
def test_an_end_that_needs_more_statements_is_left_unwritten(world: World, ledger: Ledger, case: str) -> None:
    apps, words = _OTHER_ENDS[case]
    world.apps(apps, **words)
    for child in sorted(set(world.catalogue) - {"a"}):
        _request(world, child)
    claimed, before = world.take("a"), _history(world)
    assert _settle(world, ledger, claimed) is None
    assert _history(world) == before
    assert world.record(claimed)


def test_a_child_of_another_worker_is_left_unwritten(world: World, ledger: Ledger) -> None:
    world.apps("a -> b")
    _request(world, "b")
    claimed, before = world.take("a"), _history(world)
    assert _settle(world, ledger, claimed, takes_on=False) is None
    assert _history(world) == before


def test_a_submission_that_ends_is_left_unwritten(world: World, ledger: Ledger) -> None:
    world.apps("a")
    submission = world.submit("a")
    claimed, before = world.take("a"), _history(world)
    assert _settle(world, ledger, claimed) is None
    assert _history(world) == before
    assert world.submission(submission) == "active"


def test_a_failure_is_left_unwritten(world: World, ledger: Ledger) -> None:
    world.apps("a -> b")
    _request(world, "b")
    failure = Outcome(ending=Ending.ERROR, error="it broke")
    assert _settle(world, ledger, world.take("a"), failure) is None


def test_an_outcome_that_is_offered_twice_is_written_once(world: World, ledger: Ledger) -> None:
    world.apps("a -> b")
    _request(world, "b")
    claimed = world.take("a")
    assert _settle(world, ledger, claimed)
    before = _history(world)
    assert _settle(world, ledger, claimed) is None
    assert _history(world) == before


def test_a_crash_before_the_statement_writes_nothing(
    world: World, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.apps("a -> b")
    _request(world, "b")
    claimed, before = world.take("a"), _history(world)

    def crash(point: Point) -> None:
        if point is Failpoint.LONE_END_BEGINS:
            raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(connection, "reached", crash)
        with pytest.raises(RuntimeError):
            _settle(world, ledger, claimed)
    assert _history(world) == before
    assert _settle(world, ledger, claimed)


def test_a_thread_runs_a_chain_by_lone_ends(
    world: World, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world.apps("a -> b -> c -> d")
    reached: list[Point] = []
    monkeypatch.setattr(connection, "reached", reached.append)
    running = Execution(
        ledger,
        lambda: world.catalogue,
        ClaimsInFlight(),
        world.worker,
        lambda _: None,
        stores=stores(Settings(home=tmp_path)),
        serves=lambda _: True,
    )
    settled = []
    for key in ("1", "2"):
        _request(world, "d", key)
        reached.clear()
        running.run_planned(world.catalogue, ClaimedBatch(0.0, [world.take(f"a/{key}")]))
        settled.append([point for point in reached if point in _SETTLED])
    assert set(world.states().values()) == {State.SUCCEEDED}
    # The first end of an app also writes its mean duration. The last end of a chain also ends its submission.
    assert settled == [
        [Failpoint.SETTLE_COMMITTED] * 4,
        [Failpoint.LONE_END_COMMITTED] * 3 + [Failpoint.SETTLE_COMMITTED],
    ]


def test_an_entry_of_a_journal_is_one_round_trip(world: World, ledger: Ledger) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.take("a")
    journal = RunJournal(ledger, claimed, Event())
    trips = []
    for seq in (1, 2, 3):
        entry = JournalEntry(seq=seq, step=seq - 1, name="Ask", steps=3, direction=Direction.DO)
        assert journal.write(entry) == JournalReply(stands=True)
        trips.append(ledger.round_trips())
    # The first one also prepares the statement.
    assert [later - trip for trip, later in pairwise(trips)] == [1, 1]
    written = ledger.transact(lambda tx: tx.column("SELECT seq FROM saga_journal ORDER BY seq"))
    assert written == [1, 2, 3]


def test_only_a_steady_ledger_without_a_pooler_runs_a_transaction_in_one_round_trip(world: World) -> None:
    url = world.url
    with closing(Ledger(url)) as plain, closing(Ledger(url, steady=True)) as steady:
        assert not plain.may_be_alone
        assert steady.may_be_alone
        assert not steady.beside(lambda _, __: None).may_be_alone
    with closing(Ledger(url, steady=True, pooler_url=url)) as pooled:
        assert not pooled.may_be_alone


def test_after_a_vain_try_some_ends_of_the_app_are_not_tried() -> None:
    ends = LoneEnds()
    assert ends.worth_trying("a")
    ends.note_vain("a")
    assert [ends.worth_trying("a") for _ in range(PASSED_OVER)] == [False] * PASSED_OVER
    assert ends.worth_trying("a")
    assert ends.worth_trying("b")
