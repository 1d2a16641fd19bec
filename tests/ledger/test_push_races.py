"""Races of the cancellation of a submission with the transactions that plan more jobs for it after the end of a job."""

from collections.abc import Callable

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.states import LIVE, State
from sluice.ledger.database.connection import ChangedMeanwhile
from sluice.ledger.job_graph import demand
from tests.ledger.races import Act, Acts, meet_and_finish

#: Upper limit of the number of statements of the acts in these races.
STATEMENTS_MAX = 80


class Growing(Acts):
    """World with a submission that gets more jobs when ``a`` ends."""

    def follow(self, app: str, ending: Ending, push: str) -> tuple[Act, Act]:
        """Submit the app. Judge its job ``a``, with everything that follows from it, and cancel the submission."""
        submission = self.world.submit(app, push=push)
        return self.judge(self.run("a", ending)), self.cancel(submission)


def _children(m: Growing) -> tuple[Act, Act]:
    """The success of ``a`` has ``b`` and ``c`` planned."""
    m.world.apps("a -> b, a -> c")
    return m.follow("a", Ending.DONE, "all")


def _a_child_of_others(m: Growing) -> tuple[Act, Act]:
    """The success of ``a`` has ``b`` planned, which has been expected by another submission."""
    m.world.apps("a -> b -> c, x -> c")
    m.world.submit("x")
    m.world.finish("x")
    return m.follow("a", Ending.DONE, "all")


def _an_alternative(m: Growing) -> tuple[Act, Act]:
    """The failure of ``a`` has ``b`` planned, the other way to ``c``."""
    _define_alternatives(m)
    return m.follow("c", Ending.ERROR, "wanted")


def _an_alternative_to_a_cancelled_job(m: Growing) -> tuple[Act, Act]:
    """The cancellation of ``a`` alone has ``b`` planned. No transaction holds ``a`` meanwhile."""
    _define_alternatives(m)
    submission = m.world.submit("c", push="wanted")
    return m.handle(*m.cancel_job("a")(m.world.ledger)), m.cancel(submission)


def _define_alternatives(m: Growing) -> None:
    m.world.define(
        {name: {"job_id": "{x}", "bash_cmd": "true"} for name in "ab"}
        | {
            "c": {
                "job_id": "{x}",
                "bash_cmd": "true",
                "depends_on": {"one": {"app_name": ["a"]}, "other": {"app_name": ["b"]}},
            }
        }
    )


@pytest.mark.parametrize(
    "arrange", [_children, _a_child_of_others, _an_alternative, _an_alternative_to_a_cancelled_job]
)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_no_job_that_is_planned_during_a_cancellation_is_left(
    embedded_url: str, arrange: Callable[[Growing], tuple[Act, Act]], swapped: bool
) -> None:
    def finish(m: Growing) -> None:
        assert m.world.states().get("b") not in LIVE - {State.EXPECTED}

    meet_and_finish(lambda: Growing(embedded_url), arrange, finish, swapped=swapped, most=STATEMENTS_MAX)


def test_a_submission_that_requests_the_ended_job_later_has_the_transaction_repeated(
    embedded_url: str,
) -> None:
    world = Growing(embedded_url).world
    world.apps("a -> b")
    world.submit("a")
    world.finish("a")
    ended = [world.known("a").id]
    with world.ledger.begin() as tx:
        held = demand.lock_out_cancellations(tx, ended)
        world.submit("a", None, keys=["1", "2"])
        with pytest.raises(ChangedMeanwhile):
            demand.parents_to_push(tx, ended, held)
