"""Stories of pull and push: a pull requests the parents of a job, and a push plans its children.

Stolos's notes and tests have these traces for submitting a job and working off its queues. In Stolos, a worker that got
a child requested one level of its parents. A child that had to wait was put at the back of its queue, again and again.

In Sluice, one submission requests all upstream jobs at once. A job that has to wait is ``waiting`` in the ledger and is
in no queue. It is ``ready`` as soon as its last parent has succeeded. Working off a queue is written as ``finish`` with
the ready jobs.
"""

from tests.acceptance.story import STOLOS, story

ONE, ANOTHER, WHOLE = "app1/20140606_1111_profile", "app2/20140606_1111_profile", "app4/20140606_1111_profile"
FRIDAY = "app3/20140606_1111_profile"
DAY = "20140601"
TEST = f"depends_on1/{DAY}_testID1"
CLIENTS = [f"{DAY}_{client}_{kind}" for client in (876, 1011, 9020) for kind in ("profile", "purchase")]
#: The thirteen parents: six jobs of app2, and seven jobs of app1, which include the parents of the jobs of app2.
ONES = " ".join(f"app1/{key}" for key in [*CLIENTS, f"{DAY}_999_purchase"])
TWOS = " ".join(f"app2/{key}" for key in CLIENTS)
*MOST, LAST = TWOS.split()

PULL_AND_PUSH = {
    "a succeeded job does not run again if it is submitted again": story(
        "A -> B -> C",
        "submit C push=wanted => ready A, waiting B C",
        "finish A B C => succeeded A B C",
        "submit A id=again => succeeded A B C",
        "submit A B C => succeeded A B C",
        ran={"A": 1, "B": 1, "C": 1},
        again="succeeded",
    ),
    "submitting a job in progress again changes nothing": story(
        "A -> B",
        "submit B => ready A, waiting B",
        "submit B => ready A, waiting B",
        "start A => running A, waiting B",
        "submit A B => running A, waiting B",
        "submit A rerun=job => running A, waiting B",
        "end A => executed A, waiting B",
        "judge => succeeded A, ready B",
        ran={"A": 1},
    ),
    "a second message to run a job finds nothing to do": story(
        "A -> B",
        "submit A => ready A",
        "start A => running A",
        "repeat A => running A",
        "end A => executed A",
        "repeat A => executed A",
        "judge => succeeded A, ready B",
        "repeat A => succeeded A, ready B",
        ran={"A": 1},
    ),
    "a child does not start before its parent's success has been judged": story(
        "A -> B",
        "submit A => ready A",
        "start A => running A",
        "end A => executed A",
        "submit B => executed A, waiting B",
        "judge => succeeded A, ready B",
        "finish B => succeeded A B",
        ran={"A": 1, "B": 1},
    ),
    "a child of a running parent waits until the parent's success is judged": story(
        "A -> B",
        "submit A push=wanted => ready A",
        "start A => running A",
        "submit B => running A, waiting B",
        "wait 5 => running A, waiting B",
        "end A => executed A, waiting B",
        "judge => succeeded A, ready B",
    ),
    "the groomer judges a run after its message was lost": story(
        "A -> B",
        "submit B => ready A, waiting B",
        "start A => running A, waiting B",
        "end A => executed A, waiting B",
        "lose => executed A, waiting B",
        "wait 11 => succeeded A, ready B",
    ),
    # Several parents.
    "all missing parents are requested at once": story(
        "A -> D, B -> D, C -> D, A -> B",
        "submit D => ready A C, waiting B D",
        "finish C => succeeded C, ready A, waiting B D",
        "finish A => succeeded A C, ready B, waiting D",
        "finish B => succeeded A B C, ready D",
        ran={"A": 1},
    ),
    "a missing parent of a pushed child is expected until it is requested": story(
        "A -> C, B -> C",
        "submit A => ready A",
        "finish A => succeeded A, expected B, waiting C",
        "submit C => succeeded A, ready B, waiting C",
        "finish B => succeeded A B, ready C",
    ),
    "a child defined after its first parent succeeded is ready with its second parent": story(
        "A, B",
        "submit A B => ready A B",
        "finish A => succeeded A, ready B",
        "define A -> C, B -> C => succeeded A, ready B",
        "finish B => succeeded A B, ready C",
        "finish C => succeeded A B C",
    ),
    "a child defined after both parents succeeded is triggered by a rerun of either": story(
        "A, B",
        "submit A B => ready A B",
        "finish A B => succeeded A B",
        "define A -> C, B -> C => succeeded A B",
        "submit B rerun=job => succeeded A, ready B",
        "finish B => succeeded A B, ready C",
        ran={"A": 1, "B": 2},
    ),
    "a parent that is defined after its child has run does not run the child again": story(
        "A, C",
        "submit A C => ready A C",
        "finish A C => succeeded A C",
        "define A -> C, B -> C => succeeded A C",
        "submit B => succeeded A C, ready B",
        "finish B => succeeded A B C",
        ran={"C": 1},
    ),
    # Refusals.
    "a key that does not fit is refused, and the rest of its message is accepted": story(
        {"A": {"job_id": "{x}", "identifiers": {"x": "int"}}, "B": {"job_id": "{x}"}},
        "submit A/one B/one => ready B/one",
        "submit A/one id=again => ready B/one",
        "submit A/007 => ready A/7 B/one",
        "submit A/7 => ready A/7 B/one",
        again="refused",
    ),
    "a key that fits no group is refused and does not run without its parents": story(
        STOLOS,
        "submit depends_on1/20140601_typo id=typo => ",
        "submit depends_on1/20140602_testID1 rerun=job id=late => ",
        typo="refused",
        late="refused",
    ),
    # The example of Stolos.
    "push the child of a single parent": story(
        STOLOS,
        f"submit {ONE} => ready {ONE}",
        f"finish {ONE} => succeeded {ONE}, ready {ANOTHER}, waiting {WHOLE}, expected {FRIDAY}",
    ),
    "pull several parents": story(
        STOLOS,
        f"submit {WHOLE} => ready {ONE} {FRIDAY}, waiting {ANOTHER} {WHOLE}",
        f"finish {ONE} => succeeded {ONE}, ready {ANOTHER} {FRIDAY}, waiting {WHOLE}",
        f"finish {ANOTHER} => succeeded {ONE} {ANOTHER}, ready {FRIDAY}, waiting {WHOLE}",
        f"finish {FRIDAY} => succeeded {ONE} {ANOTHER} {FRIDAY}, ready {WHOLE}",
        f"finish {WHOLE} => succeeded {ONE} {ANOTHER} {FRIDAY} {WHOLE}",
    ),
    "pull thirteen parents, and the last success makes the job ready": story(
        STOLOS,
        f"submit {TEST} push=wanted => ready {ONES}, waiting {TWOS} {TEST}",
        f"finish {ONES} => succeeded {ONES}, ready {TWOS}, waiting {TEST}",
        f"finish {' '.join(MOST)} => succeeded {ONES} {' '.join(MOST)}, ready {LAST}, waiting {TEST}",
        f"finish {LAST} => succeeded {ONES} {TWOS}, ready {TEST}",
        f"finish {TEST} => succeeded {ONES} {TWOS} {TEST}",
    ),
}
