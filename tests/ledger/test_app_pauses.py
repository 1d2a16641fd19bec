"""A paused app: its jobs become ready but do not begin, and no other app waits for their slots."""

import pytest

from sluice.actors.client import Client
from sluice.broker.messages import Execute
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import claims
from sluice.ledger.lifecycle.claims import ClaimTerms
from sluice.ledger.limits import app_pauses
from sluice.ledger.reads.quiescence import idle
from tests.ledger.races import meet, world_for_a_race
from tests.world import World

_SHARED = {"concurrency": {"pool": "db", "limit": 1}}


def pause(world: World, *apps: str) -> list[str]:
    paused = Client(world.ledger, world.queue.extend).pause_apps(apps, by="ann")
    world.deliver()
    return paused


def resume(world: World, *apps: str) -> list[str]:
    return world.ledger.transact(lambda tx: app_pauses.resume(tx, apps))


def test_a_ready_job_of_a_paused_app_begins_only_after_the_resume(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    assert pause(world, "a") == ["a"]
    assert world.claim("a") is None
    assert world.state("a") is State.READY
    assert resume(world, "a") == ["a"]
    assert world.claim("a") is not None


def test_a_job_that_becomes_ready_during_the_pause_does_not_begin(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    pause(world, "b")
    world.finish("a")
    assert world.state("b") is State.READY
    assert world.claim("b") is None
    resume(world, "b")
    world.finish("b")
    assert world.state("b") is State.SUCCEEDED


def test_a_running_job_of_a_paused_app_goes_on(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    claimed = world.claim("a")
    assert claimed is not None
    pause(world, "a")
    assert world.record(claimed)
    assert world.states() == {"a": State.SUCCEEDED, "b": State.READY}


def test_jobs_of_other_apps_begin(world: World) -> None:
    world.apps("a, b")
    world.submit("a")
    world.submit("b")
    pause(world, "a")
    assert world.claim("b") is not None


def test_a_worker_does_not_begin_a_released_child_of_a_paused_app(world: World) -> None:
    """Without the pause, the child would begin in the statement that opens its gate."""
    world.apps("a -> b")
    world.submit("b")
    pause(world, "b")
    world.finish("a")
    with world.ledger.begin() as tx:
        ready = tx.column("SELECT id FROM job WHERE app = 'b'")
        taken = claims.claim(tx, "b", [(ready[0], 0)], ClaimTerms(world.worker), at_once=10)
    assert taken.jobs == []


def test_pausing_or_resuming_an_app_twice_changes_nothing(world: World) -> None:
    world.apps("a, b")
    assert pause(world, "b", "a") == ["a", "b"]
    assert pause(world, "a") == []
    assert [each.by for each in world.ledger.transact(app_pauses.pauses)] == ["ann", "ann"]
    assert resume(world, "b", "c") == ["b"]
    assert resume(world, "b") == []


def test_the_slot_of_a_shared_pool_goes_to_another_app(world: World) -> None:
    world.define({app: {"job_id": "{x}", "bash_cmd": "true", **_SHARED} for app in "ab"})
    world.submit("a")
    world.submit("b")
    assert world.states() == {"a": State.READY, "b": State.WAITING}
    pause(world, "a")
    assert world.states() == {"a": State.WAITING, "b": State.READY}
    world.finish("b")
    world.tick(after_s=1)
    assert world.state("a") is State.WAITING, "it is not let in while its app is paused"
    resume(world, "a")
    world.tick(after_s=1)
    world.finish("a")


def test_a_transaction_that_frees_a_slot_and_admits_no_job_is_rolled_back(world: World) -> None:
    world.define({app: {"job_id": "{x}", "bash_cmd": "true", **_SHARED} for app in "ab"})
    world.submit("a")
    world.submit("b")
    with pytest.raises(AssertionError, match="no jobs were admitted to the pools"):
        world.ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by=None))
    assert world.states() == {"a": State.READY, "b": State.WAITING}


def test_the_slot_of_a_pool_that_is_not_shared_is_kept(world: World) -> None:
    world.define({"a": {"job_id": "{x}", "bash_cmd": "true", "concurrency": 1}})
    world.submit("a", "1")
    world.submit("a", "2")
    pause(world, "a")
    world.tick(after_s=1)
    assert sorted(world.states().values()) == [State.READY, State.WAITING]


@pytest.mark.parametrize("shared", [False, True])
def test_a_ledger_with_only_a_paused_app_is_idle(world: World, shared: bool) -> None:
    """``up --drain`` ends when nothing is left that happens by itself."""
    world.define({"a": {"job_id": "{x}", "bash_cmd": "true", **(_SHARED if shared else {})}})
    world.submit("a")
    assert not world.ledger.transact(lambda tx: idle(tx, []))
    pause(world, "a")
    assert world.ledger.transact(lambda tx: idle(tx, []))


def test_notifications_of_a_paused_app_are_repeated_at_growing_intervals(world: World) -> None:
    world.apps("a")
    pause(world, "a")
    world.submit("a")
    for _ in range(100):
        world.tick(after_s=1)
        world.lose_messages()
    assert sum(isinstance(each, Execute) for each in world.offered) <= 4


class Meeting:
    def __init__(self, url: str) -> None:
        self.world = world_for_a_race(url)
        self.world.apps("a")
        self.world.submit("a", "1")
        self.world.submit("a", "2")
        self.first = self.world.known("a/1").id

    def claims(self, ledger: Ledger) -> list[int]:
        terms = ClaimTerms(self.world.worker)
        taken = ledger.transact(lambda tx: claims.claim(tx, "a", [(self.first, 0)], terms))
        return [job.id for job in taken.jobs]

    def pauses(self, ledger: Ledger) -> list[str]:
        return ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by=None))


@pytest.mark.parametrize("swapped", [False, True])
def test_a_claim_gets_its_job_or_is_refused_by_a_concurrent_pause(world: World, swapped: bool) -> None:
    """The job runs or is ready. After the pause no other job begins."""

    def check(meeting: Meeting, claimed: list[int], paused: list[str]) -> None:
        assert paused == ["a"]
        running = [name for name, state in meeting.world.states().items() if state is State.RUNNING]
        assert running == (["a"] if claimed else [])
        assert meeting.world.claim("a/2") is None

    meet(
        lambda: Meeting(world.url),
        lambda meeting: (meeting.claims, meeting.pauses),
        check,
        swapped=swapped,
        most=10,
    )
