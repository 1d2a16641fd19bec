"""What failed, was skipped or was cancelled, and what becomes of those who depend on it.

In Stolos the child of a failed parent went round its queue for ever, the child of a skipped one was stranded as
pending, and one failed try set descendants that had completed back to pending. Here children learn of it at
once and to any depth, their own state says it, and what has succeeded stays. ``max_retry N`` there is
``max_fails N - 1`` here: the fails that are forgiven.
"""

from tests.acceptance.story import STOLOS, story

ODD = {"job_id": "{x}", "bash_cmd": "true", "valid_if_or": {"x": ["3", "5"]}}
EVERY = {"job_id": "{x}", "bash_cmd": "true"}


def after(*parents: str) -> dict[str, object]:
    return {**EVERY, "depends_on": {"app_name": [*parents]}}


#: A chain whose first app takes keys 3 and 5 alone, and one that needs another app besides.
FILTERED = {"A": ODD, "B": after("A"), "C": after("B"), "other": EVERY, "D": after("C", "other")}
WORKDAY, WEEKEND = "20140604_1111_profile", "20140608_1111_profile"

TROUBLE = {
    # Tries.
    "a failing job is tried as often as it may be": story(
        "A",
        "submit A max_fails=4 => ready A",
        "fail A => ready A",
        "fail A A A => ready A",
        "fail A => failed A",
        ran={"A": 5},
    ),
    "without tries to spare one failure is the end": story(
        "A",
        "submit A id=one => ready A",
        "fail A => failed A",
        "submit A id=again => failed A",
        "wait 60 => failed A",
        one="failed",
        again="failed",
        ran={"A": 1},
    ),
    "a failed try leaves alone what has succeeded below": story(
        "A -> B -> C",
        "submit C max_fails=4 => ready A, waiting B C",
        "finish A B C => succeeded A B C",
        "submit A rerun=job => ready A, succeeded B C",
        "fail A => ready A, succeeded B C",
        "finish A => succeeded A B C",
        ran={"A": 3, "B": 1, "C": 1},
    ),
    "a job that is run again has all its tries again": story(
        "A",
        "submit A max_fails=1 => ready A",
        "fail A A => failed A",
        "submit A rerun=job => ready A",
        "fail A => ready A",
        "fail A => failed A",
        ran={"A": 4},
    ),
    "two jobs of an app fail by themselves": story(
        "A",
        "submit A/1 A/2 max_fails=1 => ready A A/2",
        "fail A => ready A A/2",
        "finish A/2 => ready A, succeeded A/2",
        "fail A => failed A, succeeded A/2",
    ),
    # Failure.
    "the children of a job that fails cannot run, to any depth and at once": story(
        "A -> B -> C -> D, E -> D",
        "submit D id=one => ready A E, waiting B C D",
        "fail A => failed A, ready E, upstream_failed B C D",
        "finish E => failed A, succeeded E, upstream_failed B C D",
        one="failed",
    ),
    "a child that is asked for when its parent has failed is told so at once": story(
        "A -> B -> C",
        "submit A push=wanted => ready A",
        "fail A => failed A",
        "submit C id=late => failed A, upstream_failed B C",
        "wait 60 => failed A, upstream_failed B C",
        late="failed",
    ),
    "submitting the failed parent again revives what it had stopped": story(
        "A -> B -> C",
        "submit C id=first => ready A, waiting B C",
        "fail A => failed A, upstream_failed B C",
        "submit A rerun=job id=second => ready A, waiting B C",
        "finish A B C => succeeded A B C",
        first="failed",
        second="succeeded",
    ),
    "so does asking for the stopped job again": story(
        "A -> B -> C, A -> D",
        "submit C D => ready A, waiting B C D",
        "fail A => failed A, upstream_failed B C D",
        "submit C rerun=job id=second => ready A, waiting B C D",
        "finish A B C D => succeeded A B C D",
        second="succeeded",
    ),
    "a revived job fails again with its parent": story(
        "A -> B -> C",
        "submit C => ready A, waiting B C",
        "fail A => failed A, upstream_failed B C",
        "submit A rerun=job => ready A, waiting B C",
        "fail A => failed A, upstream_failed B C",
        "submit A rerun=job => ready A, waiting B C",
        "finish A => succeeded A, ready B, waiting C",
        "fail B => succeeded A, failed B, upstream_failed C",
    ),
    "one of two failed parents run again is not enough": story(
        "A -> C, B -> C",
        "submit C => ready A B, waiting C",
        "fail A B => failed A B, upstream_failed C",
        "submit A rerun=job => ready A, failed B, upstream_failed C",
        "submit B rerun=job => ready A B, waiting C",
        "finish A B => succeeded A B, ready C",
    ),
    "a failure does not push": story(
        "A -> B -> C",
        "submit A => ready A",
        "fail A => failed A",
    ),
    # Skipping.
    "the children of a skipped job are skipped with it": story(
        FILTERED,
        "submit C id=one => skipped A B C",
        one="succeeded",
    ),
    "a job of a skipped parent and of another is skipped, and the other runs": story(
        FILTERED,
        "submit D id=one => skipped A B C D, ready other",
        "finish other => skipped A B C D, succeeded other",
        one="succeeded",
    ),
    "a job that passes its filter is none of that": story(
        FILTERED,
        "submit C/3 push=wanted => ready A/3, waiting B/3 C/3",
        "finish A/3 B/3 C/3 => succeeded A/3 B/3 C/3",
    ),
    "a skipped job that is submitted again is still skipped, and so are its children": story(
        FILTERED,
        "submit A => skipped A",
        "submit A => skipped A",
        "submit B => skipped A B",
        "wait 60 => skipped A B",
    ),
    "a child that does not pass is skipped when it is pushed, and pushing ends there": story(
        {"A": EVERY, "B": {**ODD, "depends_on": {"app_name": ["A"]}}, "C": after("B")},
        "submit A => ready A",
        "finish A => succeeded A, skipped B",
        ran={"B": 0},
    ),
    "the filters of the example: a value that is not listed": story(
        STOLOS, "submit app2/20140606_1111_content => skipped app2/20140606_1111_content"
    ),
    "the filters of the example: a day that its function does not take": story(
        STOLOS,
        f"submit app3/{WORKDAY} app3/{WEEKEND} => skipped app3/{WORKDAY}, ready app3/{WEEKEND}",
    ),
    "the filters of the example: one of three parents is skipped": story(
        STOLOS,
        f"submit app4/{WORKDAY} push=wanted => ready app1/{WORKDAY}, waiting app2/{WORKDAY}, "
        f"skipped app3/{WORKDAY} app4/{WORKDAY}",
    ),
    # Cancelling.
    "a cancelled job takes along what depends on it": story(
        "A -> B -> C",
        "submit C id=one => ready A, waiting B C",
        "finish A => succeeded A, ready B, waiting C",
        "cancel B => succeeded A, cancelled B, upstream_failed C",
        one="failed",
    ),
    "a cancelled parent that is asked for anew revives what it had stopped": story(
        "A -> B -> C",
        "submit C id=one => ready A, waiting B C",
        "cancel A => cancelled A, upstream_failed B C",
        "submit A push=wanted => ready A, waiting B C",
        "finish A B C => succeeded A B C",
        one="failed",
    ),
    "a withdrawn submission stops what nobody else wants": story(
        "A -> B -> C, A -> D",
        "submit C id=one => ready A, waiting B C",
        "submit D id=other => ready A, waiting B C D",
        "withdraw one => ready A, cancelled B C, waiting D",
        "finish A => succeeded A, cancelled B C, ready D",
        one="cancelled",
    ),
    "what was cancelled waits again when somebody wants it": story(
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
