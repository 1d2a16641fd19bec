"""Races between two operations on one saga, stopped at every statement."""

from typing import Any

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.sagas.abort_reasons import AbortReason
from sluice.jobs.sagas.journal import EntryResult, JournalReply, Log
from sluice.jobs.states import State
from sluice.ledger.sagas import abortion
from sluice.ledger.sagas.events import EventOutcome
from tests.ledger.flights import did, switched, undid
from tests.ledger.saga_races import Act, Meeting, meet
from tests.world import LEASE_S

swapped = pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])


@swapped
def test_an_event_that_races_the_suspension_resumes_the_saga(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.awaits()
        return m.hears(), m.suspends()

    def check(m: Meeting, became: EventOutcome, refused: list[Any]) -> None:
        assert (m.state, refused) == (State.READY, [])
        assert became in {EventOutcome.KEPT, EventOutcome.RESUMED}

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_a_cancellation_that_races_the_suspension_reaches_the_next_run(
    ledger_url: str, swapped: bool
) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.awaits()
        return m.cancelled(), m.suspends()

    def check(m: Meeting, _: object, refused: list[Any]) -> None:
        assert (m.abort_reason, refused) == (AbortReason.UNWANTED, [])
        assert m.sagas.heed(m.taken_up()).abort_reason == AbortReason.UNWANTED

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_of_two_events_for_one_wait_one_resumes_and_one_is_kept(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.waits()
        return m.hears(), m.hears()

    def check(m: Meeting, one: EventOutcome, two: EventOutcome) -> None:
        assert {one, two} == {EventOutcome.RESUMED, EventOutcome.KEPT}
        assert m.state is State.READY

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_an_event_that_is_sent_twice_at_once_is_kept_once(ledger_url: str, swapped: bool) -> None:
    def check(m: Meeting, one: EventOutcome, two: EventOutcome) -> None:
        assert {one, two} == {EventOutcome.KEPT, EventOutcome.REPEATED}
        log = m.sagas.read(m.claimed)
        assert log is not None
        assert len(log.events) == 1

    meet(ledger_url, lambda m: (m.hears("same"), m.hears("same")), check, swapped=swapped)


@swapped
def test_an_event_that_races_the_timeout_of_a_wait_reaches_the_next_run(
    ledger_url: str, swapped: bool
) -> None:
    """In either order, no journal entry has taken the event yet."""

    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.waits()
        m.passes(60)
        return m.hears(), m.groomed()

    def check(m: Meeting, became: EventOutcome, _: object) -> None:
        assert became in {EventOutcome.RESUMED, EventOutcome.KEPT}
        log = m.sagas.read(m.taken_up())
        assert log is not None
        assert [event.taken for event in log.events] == [False]

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_a_cancellation_that_races_an_event_reaches_the_next_run(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.waits()
        return m.hears(), m.cancelled()

    def check(m: Meeting, became: EventOutcome, _: object) -> None:
        assert became in {EventOutcome.RESUMED, EventOutcome.KEPT}
        assert m.sagas.heed(m.taken_up()).abort_reason == AbortReason.UNWANTED

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_a_journal_entry_that_races_a_takeover_is_written_before_it_or_refused(
    ledger_url: str, swapped: bool
) -> None:
    """Either the entry is written and the next run continues after it, or its answer reports a lost flight."""

    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.passes(LEASE_S + 1)
        return m.writes(), m.taken_over()

    def check(m: Meeting, heard: JournalReply, log: Log | None) -> None:
        assert not m.sagas.write(m.claimed, did(3)).stands
        assert log is not None
        assert log.last == (did(2) if heard.stands else did(1))
        assert (m.world.round("a"), m.world.field("a", "losses")) == (0, 0)

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_a_cancellation_that_races_a_journal_entry_reaches_the_run(ledger_url: str, swapped: bool) -> None:
    """The entry is always written. If its answer does not report the cancellation, the next check does."""

    def check(m: Meeting, heard: JournalReply, _: object) -> None:
        assert heard.stands
        assert m.sagas.heed(m.claimed) == JournalReply(stands=True, abort_reason=AbortReason.UNWANTED)
        assert m.state is State.RUNNING

    meet(ledger_url, lambda m: (m.writes(), m.cancelled()), check, swapped=swapped)


@swapped
def test_a_cancellation_that_races_a_hand_back_reaches_the_next_run(ledger_url: str, swapped: bool) -> None:
    def check(m: Meeting, refused: list[Any], _: object) -> None:
        assert (refused, m.state) == ([], State.READY)
        assert m.sagas.heed(m.taken_up()).abort_reason == AbortReason.UNWANTED

    meet(ledger_url, lambda m: (m.ends(Ending.HANDED_BACK), m.cancelled()), check, swapped=swapped)


@swapped
def test_a_saga_that_ends_well_succeeds_despite_a_racing_cancellation(ledger_url: str, swapped: bool) -> None:
    def check(m: Meeting, refused: list[Any], _: object) -> None:
        assert (refused, m.state) == ([], State.EXECUTED)
        m.judged()(m.world.ledger)
        assert m.state is State.SUCCEEDED

    meet(ledger_url, lambda m: (m.ends(Ending.DONE), m.cancelled()), check, swapped=swapped)


@swapped
def test_a_failed_saga_is_not_tried_again_if_a_cancellation_races_its_judgement(
    ledger_url: str, swapped: bool
) -> None:
    """Without the cancellation the saga would be tried again."""

    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.ends(Ending.ERROR)(m.world.ledger)
        return m.judged(), m.cancelled()

    def check(m: Meeting, _: object, __: object) -> None:
        assert (m.state, m.world.field("a", "saga_open")) == (State.CANCELLED, False)

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_a_cancelled_saga_that_is_requested_again_during_its_judgement_starts_a_new_flight(
    ledger_url: str, swapped: bool
) -> None:

    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.cancelled()(m.world.ledger)
        m.ends(Ending.ERROR)(m.world.ledger)
        return m.judged(), m.wanted()

    def check(m: Meeting, _: object, __: object) -> None:
        claimed = m.taken_up()
        assert (claimed.flight, claimed.round) == (m.claimed.flight + 1, 0)

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_a_deadline_that_races_an_event_reaches_the_next_run(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        m.waits()
        m.world.ledger.transact(
            lambda tx: tx.write("UPDATE job SET end_before = %(now)s, effective_deadline = %(now)s")
        )
        return m.groomed(), m.hears()

    def check(m: Meeting, _: object, __: object) -> None:
        assert m.sagas.heed(m.taken_up()).abort_reason == AbortReason.EXPIRED

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_forcing_an_undo_that_races_a_rerun_takes_effect_first_or_is_refused(
    ledger_url: str, swapped: bool
) -> None:
    """Either the undo counts as done before the flight continues, or forcing it is refused."""

    def arrange(m: Meeting) -> tuple[Act, Act]:
        for entry in (switched(2, 1), undid(3, 1, EntryResult.UNDO_FAILED)):
            m.sagas.write(m.claimed, entry)
        m.ends(Ending.UNDO_FAILED)(m.world.ledger)
        m.judged()(m.world.ledger)
        assert m.state is State.FATAL
        return m.forced(), m.wanted(rerun="job")

    def check(m: Meeting, forced: abortion.ForcedUndo | None, _: object) -> None:
        claimed = m.taken_up()
        log = m.sagas.read(claimed)
        assert log is not None
        assert log.last is not None
        assert log.last.result is (EntryResult.FORCED if forced else EntryResult.UNDO_FAILED)
        assert claimed.flight == m.claimed.flight

    meet(ledger_url, arrange, check, swapped=swapped)


@swapped
def test_of_two_concurrent_attempts_to_force_an_undo_one_is_accepted(ledger_url: str, swapped: bool) -> None:
    def arrange(m: Meeting) -> tuple[Act, Act]:
        for entry in (switched(2, 1), undid(3, 1, EntryResult.UNDO_FAILED)):
            m.sagas.write(m.claimed, entry)
        m.ends(Ending.UNDO_FAILED)(m.world.ledger)
        m.judged()(m.world.ledger)
        return m.forced(), m.forced()

    def check(_: Meeting, one: abortion.ForcedUndo | None, two: abortion.ForcedUndo | None) -> None:
        assert (one is None) != (two is None)

    meet(ledger_url, arrange, check, swapped=swapped)
