"""Races at a breaker between ends of rounds, evaluations of the breaker, claims, and a person."""

from typing import Any

import pytest

from sluice.actors.executor import breakers, transactions
from sluice.broker.messages import Execute, JobRound
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.limits import app_pauses
from tests.ledger.breaker_worlds import broken, define, fails, news, pause, submit, trial, wait
from tests.ledger.races import meet, world_for_a_race
from tests.world import World


class Meeting:
    """World in which two rounds have failed, the third of three is about to end, and a worker may begin a fourth."""

    def __init__(self, url: str) -> None:
        self.world = world_for_a_race(url)
        define(self.world)
        submit(self.world, 4)
        self._running = [self.world.claim(f"a/{nth}") for nth in range(3)]
        self.ends(self.world.ledger, 0)
        self.ends(self.world.ledger, 1)

    def ends(self, ledger: Ledger, nth: int = 2, ending: Ending = Ending.ERROR) -> bool:
        claimed = self._running[nth]
        assert claimed
        outcome = Outcome(ending=ending, error="it broke")
        return not transactions.settle(ledger, self.world.catalogue, {claimed.right: outcome}).refused

    def minds(self, ledger: Ledger) -> bool:
        return breakers.evaluate(ledger, "a").is_open

    def ends_and_minds(self, ledger: Ledger) -> bool:
        self.ends(ledger)
        return self.minds(ledger)

    def claims(self, ledger: Ledger, job: str = "a/3") -> list[ClaimedJob]:
        message = Execute(app="a", jobs=(JobRound(self.world.known(job).id, 0),))
        claimed, _ = transactions.claim(ledger, self.world.catalogue, message, self.world.worker)
        return claimed


@pytest.mark.parametrize("swapped", [False, True])
def test_a_failed_round_is_counted_once_despite_a_concurrent_evaluation(world: World, swapped: bool) -> None:
    def check(meeting: Meeting, ended: bool, is_open: bool) -> None:
        assert ended
        assert is_open or (fails(meeting.world), news(meeting.world)) == (2, [(1, 0)])
        assert meeting.minds(meeting.world.ledger)
        assert pause(meeting.world) is not None

    meet(lambda: Meeting(world.url), lambda m: (m.ends, m.minds), check, swapped=swapped, most=20)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_success_during_an_evaluation_resets_the_failures(world: World, swapped: bool) -> None:
    """A success that is reported while the failures before it are counted is not lost. It ends their sequence."""

    def succeeds(meeting: Meeting) -> Any:
        return lambda ledger: meeting.ends(ledger, 2, Ending.DONE)

    def check(meeting: Meeting, ended: bool, is_open: bool) -> None:
        assert ended
        assert not is_open
        meeting.minds(meeting.world.ledger)
        assert (fails(meeting.world), news(meeting.world)) == (0, [])

    meet(lambda: Meeting(world.url), lambda m: (succeeds(m), m.minds), check, swapped=swapped, most=20)


@pytest.mark.parametrize("swapped", [False, True])
def test_of_two_concurrent_evaluations_one_opens_the_breaker(world: World, swapped: bool) -> None:
    """The second evaluation finds the breaker open, and does not open it again."""

    def check(meeting: Meeting, first: bool, second: bool) -> None:
        assert first
        assert second
        found = pause(meeting.world)
        assert found is not None
        assert found.why == "3 rounds in a row have failed, the last with: it broke"
        assert (fails(meeting.world), news(meeting.world)) == (0, [])

    def make() -> Meeting:
        meeting = Meeting(world.url)
        meeting.ends(meeting.world.ledger)
        return meeting

    meet(make, lambda meeting: (meeting.minds, meeting.minds), check, swapped=swapped, most=10)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_claim_gets_its_job_or_is_refused_by_an_opening_breaker(world: World, swapped: bool) -> None:
    """The job runs or is ready. Once the breaker is open, no other job begins."""

    def check(meeting: Meeting, claimed: list[ClaimedJob], is_open: bool) -> None:
        assert is_open
        state = meeting.world.state("a/3")
        assert state is (State.RUNNING if claimed else State.READY)
        assert meeting.world.claim("a/0") is None

    def make() -> Meeting:
        meeting = Meeting(world.url)
        meeting.ends(meeting.world.ledger)
        return meeting

    meet(make, lambda meeting: (meeting.claims, meeting.minds), check, swapped=swapped, most=12)


class Trying:
    """World with an open breaker."""

    def __init__(self, url: str) -> None:
        self.world = world_for_a_race(url)
        broken(self.world)

    def minds(self, ledger: Ledger) -> bool:
        return breakers.evaluate(ledger, "a").is_open

    def resumes(self, ledger: Ledger) -> list[str]:
        return ledger.transact(lambda tx: app_pauses.resume(tx, ["a"]))

    def pauses(self, ledger: Ledger) -> list[str]:
        return ledger.transact(lambda tx: app_pauses.pause(tx, ["a"], by="ann"))


def _due(url: str) -> Trying:
    trying = Trying(url)
    trying.world.ledger.transact(
        lambda tx: tx.write("UPDATE app_pause SET until = %(now)s::timestamptz WHERE app = 'a'")
    )
    return trying


@pytest.mark.parametrize("swapped", [False, True])
def test_a_resume_prevails_over_a_concurrent_choice_of_a_trial(world: World, swapped: bool) -> None:
    def check(trying: Trying, is_open: bool, resumed: list[str]) -> None:
        assert resumed == ["a"]
        assert pause(trying.world) is None
        assert trying.world.claim("a/3") is not None

    meet(lambda: _due(world.url), lambda m: (m.minds, m.resumes), check, swapped=swapped, most=12)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_persons_pause_prevails_over_a_concurrent_choice_of_a_trial(world: World, swapped: bool) -> None:
    def check(trying: Trying, is_open: bool, paused: list[str]) -> None:
        assert paused == ["a"]
        assert is_open
        found = pause(trying.world)
        assert found is not None
        assert (found.by, found.trial) == ("ann", None)
        assert all(trying.world.claim(job) is None for job in trying.world.ready())

    meet(lambda: _due(world.url), lambda m: (m.minds, m.pauses), check, swapped=swapped, most=12)


@pytest.mark.parametrize("swapped", [False, True])
def test_two_concurrent_evaluations_choose_one_trial(world: World, swapped: bool) -> None:
    """Only the chosen job can be claimed."""

    def check(trying: Trying, *_: bool) -> None:
        on_trial = trial(trying.world)
        ready = trying.world.ready()
        begun = [job for job in sorted(ready) if trying.world.claim(job) is not None]
        assert begun == [on_trial]
        wait(trying.world, 1)

    meet(lambda: _due(world.url), lambda m: (m.minds, m.minds), check, swapped=swapped, most=12)
