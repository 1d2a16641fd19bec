"""Stories of jobs that failed, were skipped or were cancelled, and of the jobs that depend on them.

In Stolos, the child of a failed parent was queued again and again, indefinitely. The child of a skipped parent stayed
pending. One failed try set completed downstream jobs back to pending.

In Sluice, all downstream jobs are updated at once, their own state shows the reason, and succeeded jobs stay succeeded.
``max_retry N`` in Stolos is ``max_fails N - 1`` here: the number of failures that are followed by a retry.
"""

from tests.acceptance.story import story

ODD = {"job_id": "{x}", "bash_cmd": "true", "valid_if_or": {"x": ["3", "5"]}}
EVERY = {"job_id": "{x}", "bash_cmd": "true"}


def after(*parents: str) -> dict[str, object]:
    return {**EVERY, "depends_on": {"app_name": [*parents]}}


#: A chain with a first app that accepts only the keys 3 and 5, and an app that also needs another app.
FILTERED = {"A": ODD, "B": after("A"), "C": after("B"), "other": EVERY, "D": after("C", "other")}

TROUBLE = {
    # Tries.
    "a failed run does not change succeeded downstream jobs": story(
        "A -> B -> C",
        "submit C max_fails=4 => ready A, waiting B C",
        "finish A B C => succeeded A B C",
        "submit A rerun=job => ready A, succeeded B C",
        "fail A => ready A, succeeded B C",
        "finish A => succeeded A B C",
        ran={"A": 3, "B": 1, "C": 1},
    ),
    "two jobs of an app fail independently": story(
        "A",
        "submit A/1 A/2 max_fails=1 => ready A A/2",
        "fail A => ready A A/2",
        "finish A/2 => ready A, succeeded A/2",
        "fail A => failed A, succeeded A/2",
    ),
    # Failure.
    "a child that is requested after its parent failed is upstream_failed at once": story(
        "A -> B -> C",
        "submit A push=wanted => ready A",
        "fail A => failed A",
        "submit C id=late => failed A, upstream_failed B C",
        "wait 60 => failed A, upstream_failed B C",
        late="failed",
    ),
    "a rerun of an upstream_failed job runs its failed parent again": story(
        "A -> B -> C, A -> D",
        "submit C D => ready A, waiting B C D",
        "fail A => failed A, upstream_failed B C D",
        "submit C rerun=job id=second => ready A, waiting B C D",
        "finish A B C D => succeeded A B C D",
        second="succeeded",
    ),
    "a job that waits again is upstream_failed again if its parent fails again": story(
        "A -> B -> C",
        "submit C => ready A, waiting B C",
        "fail A => failed A, upstream_failed B C",
        "submit A rerun=job => ready A, waiting B C",
        "fail A => failed A, upstream_failed B C",
        "submit A rerun=job => ready A, waiting B C",
        "finish A => succeeded A, ready B, waiting C",
        "fail B => succeeded A, failed B, upstream_failed C",
    ),
    "a rerun of only the first of two failed parents is not enough": story(
        "A -> C, B -> C",
        "submit C => ready A B, waiting C",
        "fail A B => failed A B, upstream_failed C",
        "submit A rerun=job => ready A, failed B, upstream_failed C",
        "submit B rerun=job => ready A B, waiting C",
        "finish A B => succeeded A B, ready C",
    ),
    "a failed job does not push its children": story(
        "A -> B -> C",
        "submit A => ready A",
        "fail A => failed A",
    ),
    # Skipping.
    "a job with a skipped parent is skipped, and its other parent runs": story(
        FILTERED,
        "submit D id=one => skipped A B C D, ready other",
        "finish other => skipped A B C D, succeeded other",
        one="succeeded",
    ),
    "a skipped job that is submitted again is still skipped, and so are its children": story(
        FILTERED,
        "submit A => skipped A",
        "submit A => skipped A",
        "submit B => skipped A B",
        "wait 60 => skipped A B",
    ),
    "a pushed child that does not pass its filter is skipped and pushes no jobs": story(
        {"A": EVERY, "B": {**ODD, "depends_on": {"app_name": ["A"]}}, "C": after("B")},
        "submit A => ready A",
        "finish A => succeeded A, skipped B",
        ran={"B": 0},
    ),
    # Cancelling.
    "a new request of a cancelled parent makes its downstream jobs wait again": story(
        "A -> B -> C",
        "submit C id=one => ready A, waiting B C",
        "cancel A => cancelled A, upstream_failed B C",
        "submit A push=wanted => ready A, waiting B C",
        "finish A B C => succeeded A B C",
        one="failed",
    ),
    "a cancelled job waits again if it is requested again": story(
        "A -> B -> C",
        "submit C id=one => ready A, waiting B C",
        "withdraw one => cancelled A B C",
        "submit B push=wanted => ready A, waiting B, cancelled C",
        "finish A B => succeeded A B, cancelled C",
        "submit C => succeeded A B, ready C",
    ),
    "the late result of a cancelled run changes nothing": story(
        "A -> B",
        "submit B id=one => ready A, waiting B",
        "start A => running A, waiting B",
        "withdraw one => cancelled A B",
        "repeat A => cancelled A B",
        "submit B => ready A, waiting B",
        "finish A => succeeded A, ready B",
    ),
}
