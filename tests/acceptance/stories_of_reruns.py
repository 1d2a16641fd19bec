"""Stories of jobs that run again after their end. Stolos called that readd.

In Stolos, readd set all downstream jobs back to pending, and ran completed children again without a request. It counted
a second success of one parent as the success of another parent. In Sluice, ``rerun=job`` runs the job alone, and
``rerun=downstream`` also the jobs after it. A parent that succeeds twice counts once.
"""

from tests.acceptance.story import story

RERUNS = {
    "an unfinished job is not run again": story(
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
    "a rerun of a job that was never requested is its first run": story(
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
    "a downstream rerun does not reach jobs that were never requested": story(
        "A -> B -> C",
        "submit B push=wanted => ready A, waiting B",
        "finish A B => succeeded A B",
        "submit A rerun=downstream push=wanted => ready A, waiting B",
        "finish A B => succeeded A B",
    ),
    "a downstream rerun over two paths runs the last job once": story(
        "A -> B, A -> C, B -> D, C -> D",
        "submit D => ready A, waiting B C D",
        "finish A B C D => succeeded A B C D",
        "submit A rerun=downstream => ready A, waiting B C D",
        "finish A B => succeeded A B, ready C, waiting D",
        "finish C => succeeded A B C, ready D",
        "finish D => succeeded A B C D",
        ran={"D": 2},
    ),
    "a ready child does not wait for a rerun of its parent": story(
        "A -> B",
        "submit B => ready A, waiting B",
        "finish A B => succeeded A B",
        "submit B rerun=job => succeeded A, ready B",
        "submit A rerun=job => ready A B",
        "finish A => succeeded A, ready B",
        "finish B => succeeded A B",
        ran={"A": 2, "B": 2},
    ),
    "a child that ends before the rerun of its parent is not run a third time": story(
        "A -> B",
        "submit B => ready A, waiting B",
        "finish A B => succeeded A B",
        "submit B rerun=job => succeeded A, ready B",
        "submit A rerun=job => ready A B",
        "finish B => ready A, succeeded B",
        "finish A => succeeded A B",
        ran={"A": 2, "B": 2},
    ),
    "a parent that succeeds twice counts once": story(
        "A -> C, B -> C",
        "submit C => ready A B, waiting C",
        "finish A => succeeded A, ready B, waiting C",
        "submit A rerun=job => ready A B, waiting C",
        "finish A => succeeded A, ready B, waiting C",
        "finish B C => succeeded A B C",
        ran={"A": 2, "C": 1},
    ),
    "a parent that succeeds twice counts once, even if the other parent was never requested": story(
        "A -> C, B -> C",
        "submit A => ready A",
        "finish A => succeeded A, expected B, waiting C",
        "submit A rerun=job => ready A, expected B, waiting C",
        "finish A => succeeded A, expected B, waiting C",
        "wait 60 => succeeded A, expected B, waiting C",
        ran={"A": 2, "C": 0},
    ),
    "a waiting child waits for a rerun of its parent": story(
        "A -> C, B -> C",
        "submit C => ready A B, waiting C",
        "finish A => succeeded A, ready B, waiting C",
        "submit A rerun=job => ready A B, waiting C",
        "finish B => ready A, succeeded B, waiting C",
        "finish A => succeeded A B, ready C",
    ),
}
