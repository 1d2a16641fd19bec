"""Races of a pause with other verbs, stopped at every statement.

Exactly the jobs that only paused submissions request wait.
"""

from collections.abc import Callable
from types import ModuleType

import pytest

from sluice.broker.messages import Cancel
from sluice.jobs.model.job import Ending
from sluice.ledger.job_graph import submission_locks
from sluice.ledger.limits import pauses as ledger_pausing
from tests.ledger.races import Act, Acts, finish_all_jobs, meet_and_finish

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 60

Pair = Callable[["Meeting"], tuple[Act, Act]]


class Meeting(Acts):
    """World before a pause.

    ``a`` is executed and not judged, and ``b`` is ready. ``paused`` is the submission that will be paused. It
    requests both, and their child ``c``. ``other`` requests ``b`` too. ``later`` is the submission that ``plan``
    makes for ``d``.
    """

    later = "plan-d-1"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.apps("a -> c, b -> c, a -> d", max_fails=1)
        self.paused = self.world.submit("c")
        self.other = self.world.submit("b", push="wanted")
        self.claimed = self.world.take("a")


def _pause_and_plan_its_job(m: Meeting) -> tuple[Act, Act]:
    m.record(m.claimed)(m.world.ledger)
    return m.pause(m.paused), m.plan("c")


def _pause_and_plan_itself(m: Meeting) -> tuple[Act, Act]:
    """Pause a submission that is inserted after the pause first looks for it, and is planned before it looks again."""
    return m.pause(m.later), m.plan("d")


def _pause_and_release_by_the_last_parent(m: Meeting) -> tuple[Act, Act]:
    m.world.finish("b")
    m.record(m.claimed)(m.world.ledger)
    return m.pause(m.paused), m.judge(m.claimed.id)


def _pause_and_push(m: Meeting) -> tuple[Act, Act]:
    """Pause, and judge ``a``, which creates ``d`` for the submission that is paused."""
    m.record(m.claimed)(m.world.ledger)
    return m.pause(m.paused), m.judge(m.claimed.id)


def _pause_and_push_for_a_paused_one(m: Meeting) -> tuple[Act, Act]:
    """Pause a submission that requests ``d``, and judge ``a``, after which a paused submission requests ``d`` too."""
    m.plan("d", id=m.later, push="wanted")(m.world.ledger)
    m.pause(m.paused)(m.world.ledger)
    m.record(m.claimed)(m.world.ledger)
    return m.pause(m.later), m.judge(m.claimed.id)


def _pause_and_claim(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.other)(m.world.ledger)
    return m.pause(m.paused), m.claim("b")


def _pause_and_try_again(m: Meeting) -> tuple[Act, Act]:
    m.record(m.claimed, Ending.ERROR)(m.world.ledger)
    return m.pause(m.paused), m.judge(m.claimed.id)


def _pause_and_hand_back(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.record(m.claimed, Ending.HANDED_BACK)


def _resume_and_hand_back(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.paused)(m.world.ledger)
    return m.resume(m.paused), m.record(m.claimed, Ending.HANDED_BACK)


def _pause_and_run_again(m: Meeting) -> tuple[Act, Act]:
    """Pause, and run a job again that had ended, so that the pause does not include it."""
    m.world.queue.append(Cancel(app="b", key="1"))
    m.world.deliver()
    return m.pause(m.paused), m.plan("b", rerun="job", push="wanted")


def _pause_and_run_a_parent_again(m: Meeting) -> tuple[Act, Act]:
    """Pause a submission that requests ``c`` and not ``a``, which has succeeded. ``a`` runs again, and ``c`` waits."""
    m.record(m.claimed)(m.world.ledger)
    m.judge(m.claimed.id)(m.world.ledger)
    m.plan("c", id=m.later, push="wanted")(m.world.ledger)
    return m.pause(m.later), m.plan("a", rerun="job", push="wanted")


def _pause_both(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.pause(m.other)


def _resume_one_and_pause_the_other(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.paused)(m.world.ledger)
    return m.resume(m.paused), m.pause(m.other)


def _resume_both(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.paused)(m.world.ledger)
    m.pause(m.other)(m.world.ledger)
    return m.resume(m.paused), m.resume(m.other)


def _pause_and_resume(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.resume(m.paused)


def _pause_one_and_cancel_the_other(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.cancel(m.other)


def _pause_and_cancel(m: Meeting) -> tuple[Act, Act]:
    return m.pause(m.paused), m.cancel(m.paused)


def _resume_and_cancel(m: Meeting) -> tuple[Act, Act]:
    m.pause(m.paused)(m.world.ledger)
    return m.resume(m.paused), m.cancel(m.paused)


PAIRS = [
    _pause_and_plan_its_job,
    _pause_and_plan_itself,
    _pause_and_release_by_the_last_parent,
    _pause_and_push,
    _pause_and_push_for_a_paused_one,
    _pause_and_claim,
    _pause_and_try_again,
    _pause_and_hand_back,
    _resume_and_hand_back,
    _pause_and_run_again,
    _pause_and_run_a_parent_again,
    _pause_both,
    _resume_one_and_pause_the_other,
    _resume_both,
    _pause_and_resume,
    _pause_one_and_cancel_the_other,
    _pause_and_cancel,
    _resume_and_cancel,
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__.strip("_"))
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_pause_or_resumption_that_races_another_verb_keeps_the_rules(
    embedded_url: str, pair: Pair, swapped: bool
) -> None:
    _meet(embedded_url, pair, swapped=swapped)


@pytest.mark.parametrize(
    ("lock", "without", "pairing"),
    [
        ((submission_locks, "_SHARE"), "SELECT 1", (_pause_and_push, True)),
        (
            (ledger_pausing, "HOLD_JOBS"),
            "SELECT 1 WHERE %(jobs)s::bigint[] IS NOT NULL",
            (_pause_both, False),
        ),
    ],
)
def test_without_its_locks_a_pause_breaks_the_rule_about_paused_jobs(
    embedded_url: str,
    monkeypatch: pytest.MonkeyPatch,
    lock: tuple[ModuleType, str],
    without: str,
    pairing: tuple[Pair, bool],
) -> None:
    """Show that the races can fail."""
    monkeypatch.setattr(*lock, without)
    with pytest.raises(AssertionError, match="is paused if and only if"):
        _meet(embedded_url, pairing[0], swapped=pairing[1])


def _meet(url: str, pair: Pair, *, swapped: bool) -> None:
    meet_and_finish(lambda: Meeting(url), pair, _finish, swapped=swapped, most=STATEMENTS_MAX)


def _finish(meeting: Meeting) -> None:
    """Resume all submissions and run jobs until every requested job has ended."""
    world = meeting.world
    for submission in (meeting.paused, meeting.other, meeting.later):
        world.resume(submission)
    world.record(meeting.claimed)
    for claimed in meeting.taken:
        world.record(claimed)
    finish_all_jobs(world, tick_s=11)
