"""Stories of freshness: results that are fresh after a run, and submissions that wait unplanned until then.

They are written in the notation of ``chunk_story``.
"""

from tests.acceptance.chunk_story import story

WAITING = {
    "a submission waits for a dependency in progress, and then uses its fresh result": story(
        "A=2: B; B=2",
        "submit B 1,2 id=one => ready B[1,2]",
        "wait 3600 => ready B[1,2]",
        "submit A 1,2 id=two => ready B[1,2], two is received",
        "wait 60 => ready B[1,2]",
        "start B[1,2] => running B[1,2]",
        "wait 5 => running B[1,2]",
        "end B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 1 => succeeded B[1,2], ready A[1,2], two is active",
        "finish A[1,2] => succeeded B[1,2] A[1,2], two is succeeded",
        ran="B[1,2]:1",
    ),
    "a submission that waited for a dependency runs it again if it failed": story(
        "A=2: B; B=2",
        "submit B 1,2 id=one => ready B[1,2]",
        "wait 10 => ready B[1,2]",
        "submit A 1,2 id=two => ready B[1,2], two is received",
        "wait 5 => ready B[1,2]",
        "fail B[1,2] => failed B[1,2], one is failed",
        "wait 1 => failed B[1,2], ready B'[1,2], waiting A[1,2], two is active",
    ),
    "a submission that waited for a dependency with lag 0 runs it again": story(
        "A=2: B(0); B=2",
        "submit B 1,2 id=one => ready B[1,2]",
        "wait 10 => ready B[1,2]",
        "submit A 1,2 id=two => ready B[1,2], two is received",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 3 => succeeded B[1,2], ready B'[1,2], waiting A[1,2], two is active",
    ),
    "a submission waits for an indirect dependency in progress": story(
        "A=2: B; B=2: E; E=2",
        "submit E 1,2 id=one => ready E[1,2]",
        "submit A 1,2 id=two => ready E[1,2], two is received",
        "finish E[1,2] => succeeded E[1,2], one is succeeded",
        "wait 3 => succeeded E[1,2], ready B[1,2], waiting A[1,2], two is active",
        "finish B[1,2] A[1,2] => succeeded E[1,2] B[1,2] A[1,2], two is succeeded",
    ),
    "a submission waits until both chunks of a dependency have ended": story(
        "A=2: B; B=1",
        "submit B 1,2 id=one => ready B[1] B[2]",
        "submit A 1,2 id=two => ready B[1] B[2], two is received",
        "finish B[1] => succeeded B[1], ready B[2]",
        "wait 3 => succeeded B[1], ready B[2]",
        "finish B[2] => succeeded B[1] B[2], one is succeeded",
        "wait 3 => succeeded B[1] B[2], ready A[1,2], two is active",
    ),
    "a submission does not wait for a dependency in progress on other IDs": story(
        "A=2: B; B=2",
        "submit B 3,4 id=one => ready B[3,4]",
        "submit A 1,2 id=two => ready B[3,4] B[1,2], waiting A[1,2]",
    ),
    "a submission waits for the dependency of an equal submission": story(
        "A=2: B; B=2",
        "submit A 1,2 id=one => ready B[1,2], waiting A[1,2]",
        "submit A 1,2 id=two => ready B[1,2], waiting A[1,2], two is received",
        "finish B[1,2] => succeeded B[1,2], ready A[1,2]",
        "wait 3 => succeeded B[1,2], ready A[1,2] A'[1,2], two is active",
        "finish A[1,2] A'[1,2] => succeeded B[1,2] A[1,2] A'[1,2], one is succeeded, two is succeeded",
        ran="B[1,2]:1 A[1,2]:1 A'[1,2]:1",
    ),
    "a requested app runs for each submission, even on the same IDs": story(
        "A=2",
        "submit A 1,2 id=one => ready A[1,2]",
        "submit A 1,2 id=two => ready A[1,2] A'[1,2]",
        "finish A[1,2] A'[1,2] => succeeded A[1,2] A'[1,2], one is succeeded, two is succeeded",
    ),
    "three submissions wait for each other in a row": story(
        "A=2: B; B=2: C; C=2",
        "submit C 1,2 id=one => ready C[1,2]",
        "submit B 1,2 id=two => ready C[1,2], two is received",
        "submit A 1,2 id=three => ready C[1,2], three is received",
        "finish C[1,2] => succeeded C[1,2], one is succeeded",
        "wait 3 => succeeded C[1,2], ready B[1,2], two is active",
        "wait 60 => succeeded C[1,2], ready B[1,2]",
        "finish B[1,2] => succeeded C[1,2] B[1,2], two is succeeded",
        "wait 3 => succeeded C[1,2] B[1,2], ready A[1,2], three is active",
        "finish A[1,2] => succeeded C[1,2] B[1,2] A[1,2], three is succeeded",
        ran="C[1,2]:1 B[1,2]:1 A[1,2]:1",
    ),
    "a submission waits for an older submission that is not planned yet": story(
        "A=2: B; B=2",
        "leave B 1,2 id=one => one is received",
        "submit A 1,2 id=two => one is received, two is received",
        "wait 3 => ready B[1,2], one is active, two is received",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 3 => succeeded B[1,2], ready A[1,2], two is active",
        ran="B[1,2]:1",
    ),
    "a submission does not wait for a younger submission": story(
        "A=2: B; B=2",
        "leave A 1,2 id=one => one is received",
        "leave B 1,2 id=two => two is received",
        "wait 3 => ready B[1,2] B'[1,2], waiting A[1,2], one is active, two is active",
    ),
}

REMEMBERING = {
    "a dependency need not run again within its lag, to the second": story(
        "A=2: B(90s); B=2",
        "submit A 1,2 id=one => ready B[1,2], waiting A[1,2]",
        "finish B[1,2] A[1,2] => succeeded B[1,2] A[1,2], one is succeeded",
        "wait 90 => succeeded B[1,2] A[1,2]",
        "submit A 1,2 id=two => succeeded B[1,2] A[1,2], ready A'[1,2]",
        "finish A'[1,2] => succeeded B[1,2] A[1,2] A'[1,2], two is succeeded",
        "wait 1 => succeeded B[1,2] A[1,2] A'[1,2]",
        "submit A 1,2 id=three => succeeded B[1,2] A[1,2] A'[1,2], ready B'[1,2], waiting A''[1,2]",
    ),
    "other IDs have other results": story(
        "A=2: B; B=1",
        "submit A 1,2 id=one => ready B[1] B[2], waiting A[1,2]",
        "finish B[1] B[2] A[1,2] => succeeded B[1] B[2] A[1,2], one is succeeded",
        "submit A 2,3 id=two => succeeded B[1] B[2] A[1,2], ready B[3], waiting A[2,3]",
    ),
    "a submission with the kwarg testing records no results": story(
        "A=2: B; B=2",
        "submit A 1,2 id=one with testing=1 => ready B[1,2], waiting A[1,2]",
        "finish B[1,2] A[1,2] => succeeded B[1,2] A[1,2], one is succeeded",
        "submit A 1,2 id=two => succeeded B[1,2] A[1,2], ready B'[1,2], waiting A'[1,2]",
        fresh="",
    ),
    "a dependency with the kwarg testing records no results": story(
        "A=2: B(testing=1); B=2",
        "submit A 1,2 id=one => ready B[1,2], waiting A[1,2]",
        "finish B[1,2] A[1,2] => succeeded B[1,2] A[1,2], one is succeeded",
        fresh="A[1,2]",
    ),
    "results for different values of the freshness_by kwarg are fresh separately": story(
        "A=2: B; B=2 by=region",
        "submit A 1,2 id=one with region=north => ready B[1,2], waiting A[1,2]",
        "submit A 1,2 id=two with region=south => ready B[1,2] B'[1,2], waiting A[1,2] A'[1,2]",
        "finish B[1,2] A[1,2] B'[1,2] A'[1,2] => succeeded B[1,2] A[1,2] B'[1,2] A'[1,2],"
        "one is succeeded, two is succeeded",
        "submit A 1,2 id=three with region=south => succeeded B[1,2] A[1,2] B'[1,2] A'[1,2], ready A''[1,2]",
        "submit A 1,2 id=four with region=west => succeeded B[1,2] A[1,2] B'[1,2] A'[1,2], ready A''[1,2] B''[1,2],"
        "waiting A'''[1,2]",
    ),
    "kwargs outside freshness_by make no difference": story(
        "A=2: B; B=2 by=region",
        "submit B 1,2 id=one with region=north x=1 => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "submit A 1,2 id=two with region=north x=2 => succeeded B[1,2], ready A[1,2]",
    ),
}

ANY_IDS = {
    "a dependency that lacks an ID runs on the whole chunk": story(
        "A=3: B; B=3",
        "submit B 1,2 id=one => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 1800 => succeeded B[1,2]",
        "submit A 1-3 id=two => succeeded B[1,2], ready B[1-3], waiting A[1-3]",
    ),
    "a dependency that lacks an ID need not run if missing IDs are allowed": story(
        "A=3: B(any); B=3",
        "submit B 1,2 id=one => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 1800 => succeeded B[1,2]",
        "submit A 1-3 id=two => succeeded B[1,2], ready A[1-3]",
    ),
    "a run only as a dependency of another app does not count": story(
        "A=3: B(any); B=3; C=3: B",
        "submit C 1,2 id=one => ready B[1,2], waiting C[1,2]",
        "finish B[1,2] C[1,2] => succeeded B[1,2] C[1,2], one is succeeded",
        "wait 300 => succeeded B[1,2] C[1,2]",
        "submit A 1-3 id=two => succeeded B[1,2] C[1,2], ready B[1-3], waiting A[1-3]",
    ),
    "a rerun of a single chunk does not count": story(
        "A=3: B(any); B=3; C=3: B",
        "submit C 1,2 id=one => ready B[1,2], waiting C[1,2]",
        "finish B[1,2] C[1,2] => succeeded B[1,2] C[1,2], one is succeeded",
        "rerun B[1,2] => ready B[1,2], succeeded C[1,2]",
        "finish B[1,2] => succeeded B[1,2] C[1,2]",
        "submit A 1-3 id=two => succeeded B[1,2] C[1,2], ready B[1-3], waiting A[1-3]",
    ),
    "a run with the kwarg testing does not count": story(
        "A=3: B(any); B=3",
        "submit B 1,2 id=one with testing=1 => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "submit A 1-3 id=two => succeeded B[1,2], ready B[1-3], waiting A[1-3]",
    ),
    "a run with another value of the freshness_by kwarg does not count": story(
        "A=3: B(any); B=3 by=region",
        "submit B 1,2 id=one with region=north => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "submit A 1-3 id=two with region=south => succeeded B[1,2], ready B[1-3], waiting A[1-3]",
        "submit A 1-3 id=three with region=north => succeeded B[1,2], ready B[1-3], waiting A[1-3], ready A'[1-3]",
    ),
    "a failed run does not count": story(
        "A=3: B(any); B=1",
        "submit B 1,2 id=one => ready B[1] B[2]",
        "finish B[1] => succeeded B[1], ready B[2]",
        "fail B[2] => succeeded B[1], failed B[2], one is failed",
        "submit A 1,2 id=two => succeeded B[1], failed B[2], ready B'[2], waiting A[1,2]",
    ),
}
