"""Stories of freshness: results that are fresh after a run, and submissions that wait unplanned until then.

They are written in the notation of ``chunk_story``.
"""

from tests.acceptance.chunk_story import story

WAITING = {
    "a dependency is under way: it is waited for, and then it is fresh": story(
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
    "it fails: whoever waited runs it anew": story(
        "A=2: B; B=2",
        "submit B 1,2 id=one => ready B[1,2]",
        "wait 10 => ready B[1,2]",
        "submit A 1,2 id=two => ready B[1,2], two is received",
        "wait 5 => ready B[1,2]",
        "fail B[1,2] => failed B[1,2], one is failed",
        "wait 1 => failed B[1,2], ready B'[1,2], waiting A[1,2], two is active",
    ),
    "it is of no use once it is as old as that: whoever waited runs it anew": story(
        "A=2: B(0); B=2",
        "submit B 1,2 id=one => ready B[1,2]",
        "wait 10 => ready B[1,2]",
        "submit A 1,2 id=two => ready B[1,2], two is received",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 3 => succeeded B[1,2], ready B'[1,2], waiting A[1,2], two is active",
    ),
    "what a dependency depends on is under way: that is waited for too": story(
        "A=2: B; B=2: E; E=2",
        "submit E 1,2 id=one => ready E[1,2]",
        "submit A 1,2 id=two => ready E[1,2], two is received",
        "finish E[1,2] => succeeded E[1,2], one is succeeded",
        "wait 3 => succeeded E[1,2], ready B[1,2], waiting A[1,2], two is active",
        "finish B[1,2] A[1,2] => succeeded E[1,2] B[1,2] A[1,2], two is succeeded",
    ),
    "one of its chunks ends after the other: it is planned once both have": story(
        "A=2: B; B=1",
        "submit B 1,2 id=one => ready B[1] B[2]",
        "submit A 1,2 id=two => ready B[1] B[2], two is received",
        "finish B[1] => succeeded B[1], ready B[2]",
        "wait 3 => succeeded B[1], ready B[2]",
        "finish B[2] => succeeded B[1] B[2], one is succeeded",
        "wait 3 => succeeded B[1] B[2], ready A[1,2], two is active",
    ),
    "a dependency is under way on other IDs: nobody waits": story(
        "A=2: B; B=2",
        "submit B 3,4 id=one => ready B[3,4]",
        "submit A 1,2 id=two => ready B[3,4] B[1,2], waiting A[1,2]",
    ),
    "it is under way for whoever asked for the same": story(
        "A=2: B; B=2",
        "submit A 1,2 id=one => ready B[1,2], waiting A[1,2]",
        "submit A 1,2 id=two => ready B[1,2], waiting A[1,2], two is received",
        "finish B[1,2] => succeeded B[1,2], ready A[1,2]",
        "wait 3 => succeeded B[1,2], ready A[1,2] A'[1,2], two is active",
        "finish A[1,2] A'[1,2] => succeeded B[1,2] A[1,2] A'[1,2], one is succeeded, two is succeeded",
        ran="B[1,2]:1 A[1,2]:1 A'[1,2]:1",
    ),
    "what is asked for by name runs, whoever else asked for it": story(
        "A=2",
        "submit A 1,2 id=one => ready A[1,2]",
        "submit A 1,2 id=two => ready A[1,2] A'[1,2]",
        "finish A[1,2] A'[1,2] => succeeded A[1,2] A'[1,2], one is succeeded, two is succeeded",
    ),
    "three wait for each other in a row": story(
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
    "an older submission that nobody has planned yet is waited for": story(
        "A=2: B; B=2",
        "leave B 1,2 id=one => one is received",
        "submit A 1,2 id=two => one is received, two is received",
        "wait 3 => ready B[1,2], one is active, two is received",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 3 => succeeded B[1,2], ready A[1,2], two is active",
        ran="B[1,2]:1",
    ),
    "a younger one is not": story(
        "A=2: B; B=2",
        "leave A 1,2 id=one => one is received",
        "leave B 1,2 id=two => two is received",
        "wait 3 => ready B[1,2] B'[1,2], waiting A[1,2], one is active, two is active",
    ),
}

REMEMBERING = {
    "what ran lately need not run again, to the second": story(
        "A=2: B(90s); B=2",
        "submit A 1,2 id=one => ready B[1,2], waiting A[1,2]",
        "finish B[1,2] A[1,2] => succeeded B[1,2] A[1,2], one is succeeded",
        "wait 90 => succeeded B[1,2] A[1,2]",
        "submit A 1,2 id=two => succeeded B[1,2] A[1,2], ready A'[1,2]",
        "finish A'[1,2] => succeeded B[1,2] A[1,2] A'[1,2], two is succeeded",
        "wait 1 => succeeded B[1,2] A[1,2] A'[1,2]",
        "submit A 1,2 id=three => succeeded B[1,2] A[1,2] A'[1,2], ready B'[1,2], waiting A''[1,2]",
    ),
    "other IDs are other results": story(
        "A=2: B; B=1",
        "submit A 1,2 id=one => ready B[1] B[2], waiting A[1,2]",
        "finish B[1] B[2] A[1,2] => succeeded B[1] B[2] A[1,2], one is succeeded",
        "submit A 2,3 id=two => succeeded B[1] B[2] A[1,2], ready B[3], waiting A[2,3]",
    ),
    "whoever only tries it out leaves nothing behind": story(
        "A=2: B; B=2",
        "submit A 1,2 id=one with testing=1 => ready B[1,2], waiting A[1,2]",
        "finish B[1,2] A[1,2] => succeeded B[1,2] A[1,2], one is succeeded",
        "submit A 1,2 id=two => succeeded B[1,2] A[1,2], ready B'[1,2], waiting A'[1,2]",
        fresh="",
    ),
    "nor does a dependency that is only tried out": story(
        "A=2: B(testing=1); B=2",
        "submit A 1,2 id=one => ready B[1,2], waiting A[1,2]",
        "finish B[1,2] A[1,2] => succeeded B[1,2] A[1,2], one is succeeded",
        fresh="A[1,2]",
    ),
    "what an app is told to tell apart is fresh by itself": story(
        "A=2: B; B=2 by=region",
        "submit A 1,2 id=one with region=north => ready B[1,2], waiting A[1,2]",
        "submit A 1,2 id=two with region=south => ready B[1,2] B'[1,2], waiting A[1,2] A'[1,2]",
        "finish B[1,2] A[1,2] B'[1,2] A'[1,2] => succeeded B[1,2] A[1,2] B'[1,2] A'[1,2],"
        "one is succeeded, two is succeeded",
        "submit A 1,2 id=three with region=south => succeeded B[1,2] A[1,2] B'[1,2] A'[1,2], ready A''[1,2]",
        "submit A 1,2 id=four with region=west => succeeded B[1,2] A[1,2] B'[1,2] A'[1,2], ready A''[1,2] B''[1,2],"
        "waiting A'''[1,2]",
    ),
    "other kwargs make no difference": story(
        "A=2: B; B=2 by=region",
        "submit B 1,2 id=one with region=north x=1 => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "submit A 1,2 id=two with region=north x=2 => succeeded B[1,2], ready A[1,2]",
    ),
}

ANY_IDS = {
    "it lacks an ID, and runs on all of the chunk": story(
        "A=3: B; B=3",
        "submit B 1,2 id=one => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 1800 => succeeded B[1,2]",
        "submit A 1-3 id=two => succeeded B[1,2], ready B[1-3], waiting A[1-3]",
    ),
    "it lacks an ID, and nobody minds": story(
        "A=3: B(any); B=3",
        "submit B 1,2 id=one => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 1800 => succeeded B[1,2]",
        "submit A 1-3 id=two => succeeded B[1,2], ready A[1-3]",
    ),
    "it ran for another's sake alone, which does not count": story(
        "A=3: B(any); B=3; C=3: B",
        "submit C 1,2 id=one => ready B[1,2], waiting C[1,2]",
        "finish B[1,2] C[1,2] => succeeded B[1,2] C[1,2], one is succeeded",
        "wait 300 => succeeded B[1,2] C[1,2]",
        "submit A 1-3 id=two => succeeded B[1,2] C[1,2], ready B[1-3], waiting A[1-3]",
    ),
    "a chunk of it was run again by itself, which does not count either": story(
        "A=3: B(any); B=3; C=3: B",
        "submit C 1,2 id=one => ready B[1,2], waiting C[1,2]",
        "finish B[1,2] C[1,2] => succeeded B[1,2] C[1,2], one is succeeded",
        "rerun B[1,2] => ready B[1,2], succeeded C[1,2]",
        "finish B[1,2] => succeeded B[1,2] C[1,2]",
        "submit A 1-3 id=two => succeeded B[1,2] C[1,2], ready B[1-3], waiting A[1-3]",
    ),
    "it was only tried out, which does not count": story(
        "A=3: B(any); B=3",
        "submit B 1,2 id=one with testing=1 => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "submit A 1-3 id=two => succeeded B[1,2], ready B[1-3], waiting A[1-3]",
    ),
    "it ran for what it tells apart": story(
        "A=3: B(any); B=3 by=region",
        "submit B 1,2 id=one with region=north => ready B[1,2]",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "submit A 1-3 id=two with region=south => succeeded B[1,2], ready B[1-3], waiting A[1-3]",
        "submit A 1-3 id=three with region=north => succeeded B[1,2], ready B[1-3], waiting A[1-3], ready A'[1-3]",
    ),
    "it failed, which does not count": story(
        "A=3: B(any); B=1",
        "submit B 1,2 id=one => ready B[1] B[2]",
        "finish B[1] => succeeded B[1], ready B[2]",
        "fail B[2] => succeeded B[1], failed B[2], one is failed",
        "submit A 1,2 id=two => succeeded B[1], failed B[2], ready B'[2], waiting A[1,2]",
    ),
}
