"""Races of planners over a submission that has killed other planners."""

import pytest

from sluice.broker.messages import Message, Plan
from sluice.jobs.model.submission import SubmissionState
from tests.actors.dying_planners import APPS, attempts, kill_planners, receive
from tests.ledger.races import Act, Acts, meet

#: Upper bound for the statements of any planner in these tests.
STATEMENTS_MAX = 40


class Meeting(Acts):
    """World with a submission that has killed this number of planners."""

    def __init__(self, url: str, deaths: int) -> None:
        super().__init__(url)
        self.world.define(APPS)
        receive(self.world, "long", "long")
        kill_planners(self.world, "long", times=deaths)

    def plan_it(self) -> Act:
        return self.handle(Plan(submissions=("long",)))


@pytest.mark.parametrize(("deaths", "state"), [(3, SubmissionState.REFUSED), (2, SubmissionState.ACTIVE)])
def test_two_concurrent_planners_refuse_or_plan_a_submission_once(
    ledger_url: str, deaths: int, state: SubmissionState
) -> None:
    def check(meeting: Meeting, one: list[Message], two: list[Message]) -> None:
        assert meeting.world.submission("long") is state
        assert bool(one) + bool(two) == (state is SubmissionState.ACTIVE)

    meet(
        lambda: Meeting(ledger_url, deaths),
        lambda meeting: [meeting.plan_it(), meeting.plan_it()],
        check,
        swapped=False,
        most=STATEMENTS_MAX,
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_of_a_concurrent_refusal_and_cancellation_the_first_counts(ledger_url: str, swapped: bool) -> None:
    seen = set[SubmissionState]()

    def check(meeting: Meeting, planned: list[Message], cancelled: list[Message]) -> None:
        seen.add(meeting.world.submission("long"))
        meeting.world.tick()
        assert attempts(meeting.world) == []

    meet(
        lambda: Meeting(ledger_url, 3),
        lambda meeting: [meeting.plan_it(), meeting.cancel("long")],
        check,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )
    assert seen == {SubmissionState.REFUSED, SubmissionState.CANCELLED}
