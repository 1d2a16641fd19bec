"""All reasons for which a job can be stuck, and the answer of ``sluice why`` to each."""

from collections.abc import Callable
from typing import NamedTuple

from sluice.jobs.states import State
from tests.ops import situations
from tests.ops.site import Site


class Waits(NamedTuple):
    """An entry of ``waits_for``: its kind, a part of its text, and the job that it names, with its state."""

    kind: str
    what: str
    job: str = ""
    state: State | None = None


class Case(NamedTuple):
    """A situation, the job in question, and the expected answer about it. ``code`` is the exit code."""

    made: Callable[[Site], object]
    job: str
    because: str
    waits_for: tuple[Waits, ...] = ()
    remedies: tuple[str, ...] = ()
    code: int = 0


CASES = [
    Case(
        situations.a_parent_without_a_request,
        "c",
        "waits for 1 parent, which no submission has requested",
        (Waits("parent", "b/1, which no submission has requested", "b/1", State.EXPECTED),),
        ("sluice submit b 1",),
    ),
    Case(
        situations.a_parent_without_a_request,
        "b",
        "is needed by c/1, but no submission has requested it",
        remedies=("sluice submit b 1",),
    ),
    Case(
        situations.a_way_that_is_too_old_beside_one_under_way,
        "c",
        "waits for alternative first (1 parent, which is ready) or alternative second (1 parent, which is succeeded)",
        (
            Waits(
                "parent",
                "b/1 (alternative first), which is ready to run, and a thread is free",
                "b/1",
                State.READY,
            ),
            Waits(
                "parent",
                "a/1 (alternative second), which has succeeded, but too long ago",
                "a/1",
                State.SUCCEEDED,
            ),
        ),
        ("sluice why b 1",),
    ),
    Case(
        situations.parents_without_a_request,
        "c",
        "waits for 2 parents: 2 not requested",
        (
            Waits("parent", "b/1, which no submission has requested", "b/1", State.EXPECTED),
            Waits("parent", "d/1, which no submission has requested", "d/1", State.EXPECTED),
        ),
        ("sluice submit c 1",),
    ),
    Case(
        situations.a_parent_far_up_without_a_worker,
        "c",
        "waits for 1 parent, which is waiting",
        (
            Waits("parent", "b/1, which is waiting", "b/1", State.WAITING),
            Waits("root", "a/1, which is ready to run, but no worker serves its queue", "a/1", State.READY),
        ),
        ("sluice up", "sluice worker --queues a", "sluice why b 1"),
    ),
    Case(
        situations.a_parent_far_up_that_failed,
        "c",
        "cannot run, because a/1 is failed: it broke",
        (Waits("cause", "a/1, which is failed: it broke", "a/1", State.FAILED),),
        ("sluice why a 1", "sluice retry c 1"),
    ),
    Case(
        situations.a_skipped_parent,
        "b",
        "was skipped, because a/1 is skipped",
        (Waits("cause", "a/1, which is skipped", "a/1", State.SKIPPED),),
        ("sluice why a 1",),
    ),
    Case(situations.a_skipped_parent, "a", "was skipped: it does not pass its app's valid_if_or"),
    Case(situations.a_time_to_come, "a", "waits until it is due", (Waits("time", " UTC, in "),)),
    Case(
        situations.a_time_without_a_scheduler,
        "a",
        "waits until it is due",
        (Waits("time", " UTC, in "),),
        ("sluice up", "sluice worker --queues groomer,scheduler"),
    ),
    Case(
        situations.a_retry_to_come,
        "a",
        "waits to be tried again, in round 1, after: it broke",
        (Waits("time", " UTC, in "),),
    ),
    Case(
        situations.no_worker,
        "a",
        "is ready to run, but no worker serves its queue (the last worker that did, site:7, left ",
        (Waits("worker", "a worker on queue a"),),
        ("sluice up", "sluice worker --queues a"),
    ),
    Case(
        situations.no_thread_that_is_free,
        "a",
        "is ready to run, but the only thread on its queue is busy",
        (
            Waits("slot", "site:7, which runs a/long", "a/long", State.RUNNING),
            Waits("queue", "1 job of a before it, more urgent or older"),
        ),
        ("sluice worker --queues a",),
    ),
    Case(
        situations.more_urgent_jobs,
        "a",
        "is ready to run, but 2 jobs of a are before it",
        (Waits("queue", "2 jobs of a before it, more urgent or older"),),
        ("sluice worker --queues a",),
    ),
    Case(
        situations.not_planned,
        "a",
        "the submission that requests it is not planned yet",
        (Waits("submission", "submission mine to be planned"),),
        ("sluice up", "sluice worker"),
    ),
    Case(
        situations.cancelled_with_its_submission,
        "a",
        "was cancelled with submission mine of ana",
        remedies=("sluice submit a 1",),
    ),
    Case(situations.cancelled_by_name, "a", "was cancelled by name", remedies=("sluice submit a 1",)),
    Case(
        situations.a_lost_alternative,
        "c",
        "waits for alternative slow (1 parent, which is ready); alternative fast can no longer be met",
        (
            Waits("parent", "b/1 (alternative slow), which is ready to run, and a ", "b/1", State.READY),
            Waits("lost", "alternative fast: a/1 is failed: it broke", "a/1", State.FAILED),
        ),
        ("sluice why b 1", "sluice retry a 1"),
    ),
    Case(
        situations.no_alternative_left,
        "c",
        "cannot run by any of its 2 alternatives, because a/1 is failed: it broke (and 1 more)",
        (
            Waits("cause", "a/1, which is failed: it broke", "a/1", State.FAILED),
            Waits("cause", "b/1, which is failed: it broke", "b/1", State.FAILED),
        ),
        ("sluice why a 1", "sluice retry c 1"),
    ),
    Case(
        situations.no_group_that_fits,
        "b/7",
        "it cannot exist, because 7 fits none of the dependency groups of b",
        (Waits("refusal", "submission mine requested it and was refused: b/7 fits none"),),
        ("sluice apps show b",),
        code=2,
    ),
    Case(
        situations.a_parent_that_is_to_fail,
        "c",
        "waits for 1 parent, which is running",
        (Waits("parent", "a/1 to fail, which is running on site:7 in round 0", "a/1", State.RUNNING),),
        ("sluice logs --follow a 1", "sluice why a 1"),
    ),
    Case(
        situations.a_parent_that_was_to_fail,
        "c",
        "was skipped, because a/1 is succeeded, but had to fail",
        (Waits("cause", "a/1, which is succeeded", "a/1", State.SUCCEEDED),),
        ("sluice why a 1",),
    ),
    Case(
        situations.expired,
        "a",
        "had not finished by its end_before, ",
        remedies=("sluice submit --rerun job --end-before",),
    ),
    Case(
        situations.a_lost_lease,
        "a",
        "was running on site:7, with an expired lease",
        (Waits("lease", "the groomer to take it back"),),
        ("sluice up", "sluice worker"),
    ),
    Case(
        situations.timed_out,
        "a",
        "ran over its timeout in round 0: over its timeout of 1 min",
        remedies=("sluice logs a 1", "sluice retry a 1"),
    ),
    Case(
        situations.suspended,
        "a",
        "is suspended until payment arrives",
        (Waits("event", "payment"),),
        ("sluice resume a 1 --event payment", "sluice cancel a 1"),
    ),
    Case(
        situations.not_judged,
        "a",
        "has been executed, and its outcome is not decided yet",
        (Waits("planner", "the planner's decision on its outcome"),),
        ("sluice up", "sluice worker"),
    ),
    Case(
        situations.not_propagated,
        "b",
        "waits for 1 parent, which is cancelled",
        (Waits("planner", "the planner to notice that a/1 is cancelled", "a/1", State.CANCELLED),),
        ("sluice up", "sluice worker", "sluice why a 1"),
    ),
    Case(
        situations.split_to_the_last_id,
        "a/1-3@1",
        "failed in round 0 and was split: it broke; its pieces: 1 failed, 2 ready",
        (
            Waits("cause", "a/1@1, which is failed: it broke", "a/1@1", State.FAILED),
            Waits("half", "a/3@1, which is ready", "a/3@1", State.READY),
            Waits("half", "a/2@1, which is ready", "a/2@1", State.READY),
        ),
        ("sluice logs a 1@1", "sluice retry a 1@1"),
    ),
    Case(
        situations.split_for_nothing,
        "a/1-2@1",
        "failed in round 0 and was split: it broke; its pieces: 1 ready, 1 succeeded",
        (Waits("half", "a/2@1, which is ready", "a/2@1", State.READY),),
        ("sluice why a 2@1",),
    ),
    Case(
        situations.no_definition,
        "gone",
        "is ready to run, and a thread is free; but the definitions given here do not have it: There is no app 'gone'",
        (Waits("definition", "definitions that have it"),),
        ("sluice apps show", "sluice cancel gone 1"),
    ),
]
