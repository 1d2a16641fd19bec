"""Events: what a saga waits for, when it comes, and when it does not."""

import pytest

from sluice.jobs.outcome import Ending
from sluice.jobs.sagas.entry import Await, Event
from sluice.jobs.states import State
from sluice.ledger.claims import Claimed
from sluice.ledger.events import Became
from tests.ledger.flights import Sagas, awaits, came, did
from tests.world import World


@pytest.fixture
def sagas(world: World) -> Sagas:
    world.apps("a")
    world.submit("a")
    return Sagas(world)


def test_what_is_waited_for_resumes(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved")
    assert sagas.world.state("a") is State.SUSPENDED
    assert sagas.say("approved", payload={"by": "ann"}) is Became.RESUMED
    assert sagas.world.state("a") is State.READY
    assert (sagas.world.round("a"), sagas.world.field("a", "event")) == (0, None)
    assert _events(sagas, sagas.claim()) == [("approved", {"by": "ann"}, False)]


def test_something_else_is_kept_and_resumes_nobody(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved")
    assert sagas.say("paid") is Became.KEPT
    assert sagas.world.state("a") is State.SUSPENDED


@pytest.mark.parametrize(("waits_for", "said"), [("approved", None), (None, "paid"), (None, None)])
def test_a_plain_word_ends_any_wait_and_a_plain_wait_ends_by_any(
    sagas: Sagas, waits_for: str | None, said: str | None
) -> None:
    sagas.suspend(sagas.claim(), 1, waits_for)
    assert sagas.say(said) is Became.RESUMED


def test_an_event_that_comes_before_the_flight_is_not_lost(sagas: Sagas) -> None:
    assert sagas.say("approved") is Became.KEPT
    sagas.suspend(sagas.claim(), 1, "approved")
    assert sagas.world.history("a")[-3:] == [State.SUSPENDED, State.WAITING, State.READY]


def test_an_event_that_comes_before_the_wait_is_not_lost(sagas: Sagas) -> None:
    claimed = sagas.claim()
    assert sagas.say("approved") is Became.KEPT
    sagas.suspend(claimed, 1, "approved")
    assert sagas.world.state("a") is State.READY
    assert _events(sagas, sagas.claim()) == [("approved", None, False)]


def test_an_early_event_of_another_name_ends_no_wait(sagas: Sagas) -> None:
    sagas.say("paid")
    sagas.suspend(sagas.claim(), 1, "approved")
    assert sagas.world.state("a") is State.SUSPENDED


def test_one_event_ends_one_wait(sagas: Sagas) -> None:
    sagas.say("approved")
    sagas.suspend(sagas.claim(), 1, "approved")
    second = sagas.claim()
    [event] = _found(sagas, second)
    sagas.write(second, came(2, event.id))
    assert _events(sagas, second) == [("approved", None, True)]
    sagas.suspend(second, 3, "approved")
    assert sagas.world.state("a") is State.SUSPENDED


def test_two_events_end_two_waits(sagas: Sagas) -> None:
    sagas.say("approved", payload=1)
    sagas.say("approved", payload=2)
    sagas.suspend(sagas.claim(), 1, "approved")
    second = sagas.claim()
    first = next(event for event in _found(sagas, second) if event.ends(Await(event="approved")))
    assert first.payload == 1, "in the order in which they came"
    sagas.write(second, came(2, first.id))
    sagas.suspend(second, 3, "approved")
    assert sagas.world.state("a") is State.READY


def test_what_is_said_again_when_all_is_over_is_no_news(sagas: Sagas) -> None:
    sagas.say("approved", token="one")
    sagas.end(sagas.claim())
    assert sagas.world.state("a") is State.SUCCEEDED
    assert sagas.say("approved", token="one") is Became.REPEATED
    assert sagas.say("approved", token="two") is Became.TOO_LATE


def test_what_is_said_again_is_heard_once(sagas: Sagas) -> None:
    assert sagas.say("approved", token="one") is Became.KEPT
    assert sagas.say("approved", token="one") is Became.REPEATED
    assert len(_found(sagas, sagas.claim())) == 1


def test_nobody_keeps_what_is_said_of_unknown_jobs_or_to_those_that_have_ended(sagas: Sagas) -> None:
    assert sagas.say("approved", job="a/9") is Became.UNKNOWN
    sagas.end(sagas.claim())
    assert sagas.say("approved") is Became.TOO_LATE


def test_the_next_flight_hears_nothing_of_what_the_last_was_told(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a")
    sagas = Sagas(world)
    sagas.say("approved")
    sagas.end(sagas.claim(), Ending.ERROR)
    second = sagas.claim()
    assert (second.flight, _found(sagas, second)) == (1, ())
    sagas.suspend(second, 1, "approved")
    assert world.state("a") is State.SUSPENDED


def test_the_groomer_wakes_whoever_has_waited_for_long_enough(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved", within_s=60)
    sagas.world.tick(after_s=59)
    assert sagas.world.state("a") is State.SUSPENDED
    sagas.world.tick(after_s=1)
    assert sagas.world.state("a") is State.READY
    log = sagas.read(sagas.claim())
    assert log is not None
    assert log.overdue


def test_a_wait_without_a_time_lasts(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved")
    sagas.world.tick(after_s=1_000_000)
    assert sagas.world.state("a") is State.SUSPENDED


def test_the_time_counts_from_where_the_wait_began(sagas: Sagas) -> None:
    """However long the run took to end after that, and however often it was resumed in vain."""
    claimed = sagas.claim()
    sagas.write(claimed, awaits(1, "approved", 60))
    sagas.world.now = sagas.world.now.replace(second=10)
    assert sagas.world.record(claimed, Ending.SUSPENDED, event="approved", waits_s=60.0)
    sagas.world.tick(after_s=50)
    assert sagas.world.state("a") is State.READY


def test_an_event_that_comes_once_the_time_is_up_is_there_all_the_same(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved", within_s=60)
    sagas.world.tick(after_s=60)
    assert sagas.say("approved") is Became.KEPT
    assert _events(sagas, sagas.claim()) == [("approved", None, False)]


def test_a_paused_saga_hears_and_waits(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved")
    world.pause(submission)
    assert sagas.say("approved") is Became.RESUMED
    assert world.state("a") is State.WAITING
    world.resume(submission)
    assert world.state("a") is State.READY


def test_of_a_pool_whoever_waits_for_an_event_leaves_his_slot(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a")
    world.submit("a", "2")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved")
    assert world.state("a/2") is State.READY
    assert sagas.say("approved") is Became.RESUMED
    assert world.state("a") is State.WAITING
    sagas.end(sagas.claim("a/2"))
    assert world.state("a") is State.READY


def test_who_was_resumed_stands_behind_whoever_waited_for_a_worker_meanwhile(world: World) -> None:
    world.apps("a")
    world.submit("a")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved")
    world.now = world.now.replace(minute=1)
    sagas.say("approved")
    assert world.field("a", "not_before") == world.now


def test_other_entries_take_no_event(sagas: Sagas) -> None:
    sagas.say("approved")
    claimed = sagas.claim()
    sagas.write(claimed, did(1))
    assert _events(sagas, claimed) == [("approved", None, False)]


def _found(sagas: Sagas, claimed: Claimed) -> tuple[Event, ...]:
    log = sagas.read(claimed)
    assert log is not None
    return log.events


def _events(sagas: Sagas, claimed: Claimed) -> list[tuple[str | None, object, bool]]:
    return [(event.name, event.payload, event.taken) for event in _found(sagas, claimed)]
