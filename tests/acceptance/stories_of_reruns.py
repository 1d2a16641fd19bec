"""Stories of jobs that run again after their end. Stolos called that readd.

In Stolos, readd set all downstream jobs back to pending, and ran completed children again without a request. It counted
a second success of one parent as the success of another parent. In Sluice, ``rerun=job`` runs the job alone, and
``rerun=downstream`` also the jobs after it. A parent that succeeds twice counts once.
"""

from tests.acceptance.story import story

RERUNS = {
    "what has not ended is not run again": story(
        "A -> B",
        "submit A => ready A",
        "submit A rerun=job => ready A",
        "start A => running A",
        "submit A rerun=job => running A",
        "end A => executed A",
        "submit A rerun=job => executed A",
        "judge => succeeded A, ready B",
        ran={"A": 1},
    ),
    "what nobody has asked for yet is run for the first time": story(
        "A -> B",
        "submit B rerun=job => ready A, waiting B",
        "finish A B => succeeded A B",
        ran={"A": 1, "B": 1},
    ),
    "a rerun leaves succeeded parents alone": story(
        "A -> B",
        "submit B => ready A, waiting B",
        "finish A B => succeeded A B",
        "submit B rerun=job => succeeded A, ready B",
        "finish B => succeeded A B",
        ran={"A": 1, "B": 2},
    ),
    "downstream goes no further than what was ever asked for": story(
        "A -> B -> C",
        "submit B push=wanted => ready A, waiting B",
        "finish A B => succeeded A B",
        "submit A rerun=downstream push=wanted => ready A, waiting B",
        "finish A B => succeeded A B",
    ),
    "downstream by two ways runs the end once": story(
        "A -> B, A -> C, B -> D, C -> D",
        "submit D => ready A, waiting B C D",
        "finish A B C D => succeeded A B C D",
        "submit A rerun=downstream => ready A, waiting B C D",
        "finish A B => succeeded A B, ready C, waiting D",
        "finish C => succeeded A B C, ready D",
        "finish D => succeeded A B C D",
        ran={"D": 2},
    ),
    "child and parent run again: the child does not wait for what has succeeded before": story(
        "A -> B",
        "submit B => ready A, waiting B",
        "finish A B => succeeded A B",
        "submit B rerun=job => succeeded A, ready B",
        "submit A rerun=job => ready A B",
        "finish A => succeeded A, ready B",
        "finish B => succeeded A B",
        ran={"A": 2, "B": 2},
    ),
    "the same, the child first: it is not run a third time": story(
        "A -> B",
        "submit B => ready A, waiting B",
        "finish A B => succeeded A B",
        "submit B rerun=job => succeeded A, ready B",
        "submit A rerun=job => ready A B",
        "finish B => ready A, succeeded B",
        "finish A => succeeded A B",
        ran={"A": 2, "B": 2},
    ),
    "a parent that succeeds twice is not two parents": story(
        "A -> C, B -> C",
        "submit C => ready A B, waiting C",
        "finish A => succeeded A, ready B, waiting C",
        "submit A rerun=job => ready A B, waiting C",
        "finish A => succeeded A, ready B, waiting C",
        "finish B C => succeeded A B C",
        ran={"A": 2, "C": 1},
    ),
    "the same where the child was pushed and nobody asks for the other": story(
        "A -> C, B -> C",
        "submit A => ready A",
        "finish A => succeeded A, expected B, waiting C",
        "submit A rerun=job => ready A, expected B, waiting C",
        "finish A => succeeded A, expected B, waiting C",
        "wait 60 => succeeded A, expected B, waiting C",
        ran={"A": 2, "C": 0},
    ),
    "a child that waits is held up by a parent that is run again": story(
        "A -> C, B -> C",
        "submit C => ready A B, waiting C",
        "finish A => succeeded A, ready B, waiting C",
        "submit A rerun=job => ready A B, waiting C",
        "finish B => ready A, succeeded B, waiting C",
        "finish A => succeeded A B, ready C",
    ),
}
