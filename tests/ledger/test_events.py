"""Events for sagas: waits that an event ends, and waits that end without one."""

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.sagas.journal import Await, FlightEvent
from sluice.jobs.states import State
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.sagas.events import EventOutcome
from tests.ledger.flights import Sagas, awaits, came, did
from tests.world import World


@pytest.fixture
def sagas(world: World) -> Sagas:
    world.apps("a")
    world.submit("a")
    return Sagas(world)


def test_the_awaited_event_resumes_a_saga(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved")
    assert sagas.world.state("a") is State.SUSPENDED
    assert sagas.say("approved", payload={"by": "ann"}) is EventOutcome.RESUMED
    assert sagas.world.state("a") is State.READY
    assert (sagas.world.round("a"), sagas.world.field("a", "event")) == (0, None)
    assert _events(sagas, sagas.claim()) == [("approved", {"by": "ann"}, False)]


def test_another_event_is_kept_and_does_not_resume_the_saga(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved")
    assert sagas.say("paid") is EventOutcome.KEPT
    assert sagas.world.state("a") is State.SUSPENDED


@pytest.mark.parametrize(("waits_for", "said"), [("approved", None), (None, "paid"), (None, None)])
def test_an_event_without_a_name_and_a_wait_without_one_match_any(
    sagas: Sagas, waits_for: str | None, said: str | None
) -> None:
    sagas.suspend(sagas.claim(), 1, waits_for)
    assert sagas.say(said) is EventOutcome.RESUMED


def test_an_event_that_comes_before_the_flight_is_not_lost(sagas: Sagas) -> None:
    assert sagas.say("approved") is EventOutcome.KEPT
    sagas.suspend(sagas.claim(), 1, "approved")
    assert sagas.world.history("a")[-3:] == [State.SUSPENDED, State.WAITING, State.READY]


def test_an_event_that_comes_before_the_wait_is_not_lost(sagas: Sagas) -> None:
    claimed = sagas.claim()
    assert sagas.say("approved") is EventOutcome.KEPT
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


def test_a_repeated_event_is_recognized_after_the_job_has_ended(sagas: Sagas) -> None:
    sagas.say("approved", token="one")
    sagas.end(sagas.claim())
    assert sagas.world.state("a") is State.SUCCEEDED
    assert sagas.say("approved", token="one") is EventOutcome.REPEATED
    assert sagas.say("approved", token="two") is EventOutcome.TOO_LATE


def test_a_repeated_event_counts_once(sagas: Sagas) -> None:
    assert sagas.say("approved", token="one") is EventOutcome.KEPT
    assert sagas.say("approved", token="one") is EventOutcome.REPEATED
    assert len(_found(sagas, sagas.claim())) == 1


def test_events_for_unknown_or_ended_jobs_are_not_kept(sagas: Sagas) -> None:
    assert sagas.say("approved", job="a/9") is EventOutcome.UNKNOWN
    sagas.end(sagas.claim())
    assert sagas.say("approved") is EventOutcome.TOO_LATE


def test_the_next_flight_does_not_get_events_of_the_last(world: World) -> None:
    world.apps("a", max_fails=1)
    world.submit("a")
    sagas = Sagas(world)
    sagas.say("approved")
    sagas.end(sagas.claim(), Ending.ERROR)
    second = sagas.claim()
    assert (second.flight, _found(sagas, second)) == (1, ())
    sagas.suspend(second, 1, "approved")
    assert world.state("a") is State.SUSPENDED


def test_the_groomer_resumes_a_saga_when_its_wait_is_over(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved", within_s=60)
    sagas.world.tick(after_s=59)
    assert sagas.world.state("a") is State.SUSPENDED
    sagas.world.tick(after_s=1)
    assert sagas.world.state("a") is State.READY
    log = sagas.read(sagas.claim())
    assert log is not None
    assert log.overdue


def test_a_wait_without_a_time_limit_lasts(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved")
    sagas.world.tick(after_s=1_000_000)
    assert sagas.world.state("a") is State.SUSPENDED


def test_the_time_limit_counts_from_the_entry_that_began_the_wait(sagas: Sagas) -> None:
    """It does not matter how long the run takes to end after that, or how often it is resumed in vain."""
    claimed = sagas.claim()
    sagas.write(claimed, awaits(1, "approved", 60))
    sagas.world.now = sagas.world.now.replace(second=10)
    assert sagas.world.record(claimed, Ending.SUSPENDED, event="approved", waits_s=60.0)
    sagas.world.tick(after_s=50)
    assert sagas.world.state("a") is State.READY


def test_an_event_that_comes_after_the_time_limit_is_kept(sagas: Sagas) -> None:
    sagas.suspend(sagas.claim(), 1, "approved", within_s=60)
    sagas.world.tick(after_s=60)
    assert sagas.say("approved") is EventOutcome.KEPT
    assert _events(sagas, sagas.claim()) == [("approved", None, False)]


def test_an_event_for_a_paused_saga_takes_effect_when_it_is_resumed(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved")
    world.pause(submission)
    assert sagas.say("approved") is EventOutcome.RESUMED
    assert world.state("a") is State.WAITING
    world.resume(submission)
    assert world.state("a") is State.READY


def test_a_saga_that_waits_for_an_event_frees_its_slot(world: World) -> None:
    world.apps("a", concurrency=1)
    world.submit("a")
    world.submit("a", "2")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved")
    assert world.state("a/2") is State.READY
    assert sagas.say("approved") is EventOutcome.RESUMED
    assert world.state("a") is State.WAITING
    sagas.end(sagas.claim("a/2"))
    assert world.state("a") is State.READY


def test_a_resumed_saga_comes_after_jobs_that_were_due_earlier(world: World) -> None:
    world.apps("a")
    world.submit("a")
    sagas = Sagas(world)
    sagas.suspend(sagas.claim(), 1, "approved")
    world.now = world.now.replace(minute=1)
    sagas.say("approved")
    assert world.field("a", "not_before") == world.now


def test_an_entry_that_names_no_event_takes_none(sagas: Sagas) -> None:
    sagas.say("approved")
    claimed = sagas.claim()
    sagas.write(claimed, did(1))
    assert _events(sagas, claimed) == [("approved", None, False)]


def _found(sagas: Sagas, claimed: ClaimedJob) -> tuple[FlightEvent, ...]:
    log = sagas.read(claimed)
    assert log is not None
    return log.events


def _events(sagas: Sagas, claimed: ClaimedJob) -> list[tuple[str | None, object, bool]]:
    return [(event.name, event.payload, event.taken) for event in _found(sagas, claimed)]
