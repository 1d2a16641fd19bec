"""Races of verbs with the planning of added jobs (``job.expand``), stopped at every statement.

In any order, each requested job ends, and each success adds its jobs once.
"""

from collections.abc import Callable

import pytest

from sluice.actors.executor import transactions
from sluice.broker.messages import Ended
from sluice.jobs.expansions import Expansion, encoded
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import TERMINAL, State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.job_graph import expansions
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.ledger.races import Act, Acts, finish_all_jobs, meet_and_finish

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 120

Pair = Callable[["Meeting"], tuple[Act, Act]]
_PLAIN = {"job_id": "{x}", "bash_cmd": "true"}
_SUCCESSES = "SELECT app || '/' || key FROM transition JOIN job ON job.id = job WHERE target = 'succeeded'"
#: Keys of the added jobs that ``join`` needs.
_NEEDED = """
SELECT parent.key FROM need JOIN job parent ON parent.id = need.parent JOIN job child ON child.id = need.child
WHERE child.app = 'join' AND parent.app = 'part' ORDER BY parent.key
"""


class Meeting(Acts):
    """World in which ``split`` has succeeded and adds two jobs. ``join`` needs it and them. Nothing is judged yet."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.define(
            {
                "split": _PLAIN,
                "twin": _PLAIN,
                "part": _PLAIN,
                "join": _PLAIN | {"depends_on": {"app_name": ["split"]}},
            }
        )
        self.world.submit("join", id="asked", push="wanted")
        #: Keys of the jobs that each success adds.
        self.added: list[list[str]] = []
        self.split = self.succeed(self.world.take("split"), "1", "2")

    def succeed(self, claimed: ClaimedJob, *parts: str) -> int:
        body = encoded([Expansion("part", parts, JobName("join", "1"))])
        outcome = Outcome(ending=Ending.DONE, expansions=body)
        transactions.record(self.world.ledger, {claimed.right: outcome})
        self.added.append([*parts])
        return claimed.id

    def expand(self) -> Act:
        """Judge the success, and plan the added jobs."""
        return self.judge(self.split)

    def expand_again(self) -> Act:
        """Plan the added jobs of a success that is judged, as for the propagation outbox."""
        return self.handle(Ended(jobs=(self.split,)))

    def run_again(self, *parts: str) -> None:
        """Plan the added jobs. Then run ``split`` again, which adds these."""
        self.expand()(self.world.ledger)
        self.plan("split", id="again", rerun="job", push="wanted")(self.world.ledger)
        self.succeed(self.world.take("split"), *parts)


def _two_planners(m: Meeting) -> tuple[Act, Act]:
    return m.expand(), m.expand_again()


def _a_planner_and_a_cancellation(m: Meeting) -> tuple[Act, Act]:
    return m.expand(), m.cancel("asked")


def _a_planner_and_a_rerun(m: Meeting) -> tuple[Act, Act]:
    m.added.append([])  # If the rerun comes too late to change nothing, that run adds no jobs.
    return m.expand(), m.plan("split", rerun="job", push="wanted")


def _a_planner_and_a_plan_for_the_last_job(m: Meeting) -> tuple[Act, Act]:
    return m.expand(), m.plan("join", push="wanted")


def _a_planner_for_a_paused_submission_and_a_plan_for_the_last_job(m: Meeting) -> tuple[Act, Act]:
    m.pause("asked")(m.world.ledger)
    return m.expand(), m.plan("join", push="wanted")


def _a_planner_without_requests_and_a_plan_for_the_last_job(m: Meeting) -> tuple[Act, Act]:
    m.cancel("asked")(m.world.ledger)
    return m.expand(), m.plan("join", push="wanted")


def _a_planner_and_a_plan_for_a_part(m: Meeting) -> tuple[Act, Act]:
    return m.expand(), m.plan("part", "2", push="wanted")


def _a_planner_and_a_tick(m: Meeting) -> tuple[Act, Act]:
    return m.expand(), m.groom()


def _a_second_expansion_and_the_end_of_a_part(m: Meeting) -> tuple[Act, Act]:
    m.expand()(m.world.ledger)
    part = m.run("part/1")
    m.plan("split", id="again", rerun="job", push="wanted")(m.world.ledger)
    m.succeed(m.world.take("split"), "2", "3")
    return m.expand(), m.judge(part)


def _a_second_expansion_and_a_claim_of_a_part(m: Meeting) -> tuple[Act, Act]:
    m.run_again("2", "3")
    return m.expand(), m.claim("part/1")


def _a_second_expansion_and_a_cancellation(m: Meeting) -> tuple[Act, Act]:
    m.run_again("2", "3")
    return m.expand(), m.cancel("again")


def _a_second_expansion_and_a_plan_for_a_part(m: Meeting) -> tuple[Act, Act]:
    m.run_again("2", "3")
    return m.expand(), m.plan("part", "1", push="wanted")


def _two_jobs_that_name_the_same_last_job(m: Meeting) -> tuple[Act, Act]:
    m.world.submit("twin", push="wanted")
    twin = m.succeed(m.world.take("twin"), "3")
    m.added = [["1", "2", "3"]]
    return m.expand(), m.judge(twin)


PAIRS = [
    _two_planners,
    _a_planner_and_a_cancellation,
    _a_planner_and_a_rerun,
    _a_planner_and_a_plan_for_the_last_job,
    _a_planner_for_a_paused_submission_and_a_plan_for_the_last_job,
    _a_planner_without_requests_and_a_plan_for_the_last_job,
    _a_planner_and_a_plan_for_a_part,
    _a_planner_and_a_tick,
    _a_second_expansion_and_the_end_of_a_part,
    _a_second_expansion_and_a_claim_of_a_part,
    _a_second_expansion_and_a_cancellation,
    _a_second_expansion_and_a_plan_for_a_part,
    _two_jobs_that_name_the_same_last_job,
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_verbs_that_race_with_an_expansion_keep_the_rules(
    embedded_url: str, pair: Pair, swapped: bool
) -> None:
    _meet(embedded_url, pair, swapped=swapped)


class SharedMeeting(Meeting):
    """World in which ``asked`` requests ``split``, which has succeeded and adds two jobs. ``other`` requests ``join``,
    which needs them, and knows nothing of ``split``. Nothing is judged yet."""

    def __init__(self, url: str, *, is_requested: bool) -> None:
        Acts.__init__(self, url)
        self.world.define(
            {
                "split": _PLAIN,
                "first": _PLAIN,
                "part": _PLAIN,
                "join": _PLAIN | {"depends_on": {"app_name": ["first"]}},
            }
        )
        self.added = []
        self.world.submit("split", id="asked", push="wanted")
        if is_requested:
            self.world.submit("join", id="other", push="wanted")
        self.split = self.succeed(self.world.take("split"), "1", "2")

    def request(self) -> Act:
        return self.plan("join", id="other", push="wanted")

    def expand_and_cancel(self) -> Act:
        """Plan the added jobs, and then cancel the submission that requests ``split``."""
        acts = self.expand(), self.cancel("asked")
        return lambda ledger: [message for act in acts for message in act(ledger)]


SHARED_PAIRS: dict[str, tuple[bool, Callable[[SharedMeeting], tuple[Act, Act]]]] = {
    "a planner and a plan for the last job": (False, lambda m: (m.expand(), m.request())),
    "a plan for the last job, and a planner and a cancellation": (
        False,
        lambda m: (m.request(), m.expand_and_cancel()),
    ),
    "a planner and the cancellation of its submission": (True, lambda m: (m.expand(), m.cancel("asked"))),
    "two planners": (True, lambda m: (m.expand(), m.expand_again())),
    "a planner and the cancellation of the last job": (True, lambda m: (m.expand(), m.cancel("other"))),
}


@pytest.mark.parametrize("name", SHARED_PAIRS)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_cancelled_submission_leaves_the_last_job_of_another_one(
    embedded_url: str, name: str, swapped: bool
) -> None:
    """Cancel the submission that requested the expansion, in the race or after it."""
    is_requested, pair = SHARED_PAIRS[name]
    meet_and_finish(
        lambda: SharedMeeting(embedded_url, is_requested=is_requested),
        pair,
        _finish_without_the_expanding_submission,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


class ActiveAgainMeeting(SharedMeeting):
    """World in which ``other`` has failed together with ``asked``, which was retried.

    ``other`` requests ``last``, which needs ``join``. The job ``split`` has succeeded and adds two jobs. Nothing is
    judged yet.
    """

    def __init__(self, url: str) -> None:
        Acts.__init__(self, url)
        join = _PLAIN | {"depends_on": {"app_name": ["split"]}}
        last = _PLAIN | {"depends_on": {"app_name": ["join"]}}
        split = _PLAIN | {"max_fails": 0}
        self.world.define({"split": split, "part": _PLAIN, "join": join, "last": last})
        self.added = []
        self.world.submit("join", id="asked", push="wanted")
        self.world.submit("last", id="other", push="wanted")
        self.world.finish("split", Ending.ERROR)
        self.world.retry("asked")
        self.split = self.succeed(self.world.take("split"), "1", "2")

    def run_last_again(self) -> Act:
        """Run ``last`` again, which makes ``other`` active again."""
        return self.plan("last", rerun="alone", push="wanted")


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_submission_that_is_active_again_keeps_the_added_jobs(embedded_url: str, swapped: bool) -> None:
    meet_and_finish(
        lambda: ActiveAgainMeeting(embedded_url),
        lambda m: (m.expand(), m.run_last_again()),
        _finish_without_the_expanding_submission,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


class PushedMeeting(Meeting):
    """World in which ``asked`` was cancelled before the success of ``split`` is judged, so that nothing requests it."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.cancel("asked")(self.world.ledger)

    def run_join_again(self) -> Act:
        """Run ``join`` again by a submission that ends at once, because it requests no parents."""
        return self.plan("join", rerun="alone", push="wanted")


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_success_that_nothing_requests_is_expanded_for_a_pushed_last_job(
    embedded_url: str, swapped: bool
) -> None:
    meet_and_finish(
        lambda: PushedMeeting(embedded_url),
        lambda m: (m.expand(), m.run_join_again()),
        _finish_pushed,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


def _finish_pushed(m: PushedMeeting) -> None:
    finish_all_jobs(m.world)
    assert set(m.world.states().values()) == {State.SUCCEEDED}


def _finish_without_the_expanding_submission(m: SharedMeeting) -> None:
    m.cancel("asked")(m.world.ledger)
    m.world.deliver()
    if m.world.submission("other") is SubmissionState.CANCELLED:
        assert set(m.world.states().values()) <= TERMINAL
        return
    finish_all_jobs(m.world)
    states = m.world.states()
    assert m.world.submission("other") is SubmissionState.SUCCEEDED, states
    needed = m.world.ledger.transact(lambda tx: tx.column(_NEEDED))
    assert {states["part" if key == "1" else f"part/{key}"] for key in needed} <= {State.SUCCEEDED}


def test_without_the_lock_of_the_expansion_two_planners_run_a_part_twice(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show that the races can fail: then the second planner runs jobs again that have ended since."""
    unlocked = expansions._LOCK_OPEN.replace("FOR UPDATE OF job", "").replace("FOR UPDATE", "")
    monkeypatch.setattr(expansions, "_LOCK_OPEN", unlocked)
    monkeypatch.setattr(expansions, "_LOCK_FOLLOWERS", "SELECT 1")
    with pytest.raises(AssertionError):
        _meet(embedded_url, _two_planners_and_runs, swapped=False)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_without_the_lock_of_the_last_job_it_misses_parts(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansions, "_LOCK_FOLLOWERS", "SELECT 1")
    with pytest.raises(AssertionError):
        _meet(embedded_url, _two_jobs_that_name_the_same_last_job, swapped=False)


def _two_planners_and_runs(m: Meeting) -> tuple[Act, Act]:
    def run_parts(ledger: Ledger) -> list[object]:
        m.expand_again()(ledger)
        for part in m.world.ready():
            m.world.finish(part)
        return []

    return m.expand(), run_parts


def _meet(url: str, pair: Pair, *, swapped: bool) -> None:
    meet_and_finish(lambda: Meeting(url), pair, _finish, swapped=swapped, most=STATEMENTS_MAX)


def _finish(m: Meeting) -> None:
    finish_all_jobs(m.world)
    states = m.world.states()
    assert set(states.values()) <= {State.SUCCEEDED, State.CANCELLED}
    ran = m.world.ledger.transact(lambda tx: tx.column(_SUCCESSES))
    runs = ran.count("split/1")
    assert all(ran.count(f"part/{n}") <= runs for n in (1, 2, 3)), ran
    if states["join"] is State.SUCCEEDED:
        added = m.added[runs - 1]
        assert m.world.ledger.transact(lambda tx: tx.column(_NEEDED)) == added
        assert {states["part" if part == "1" else f"part/{part}"] for part in added} <= {State.SUCCEEDED}
