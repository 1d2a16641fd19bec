"""Stories of chunks that fail, are lost, cancelled or run again, and of the jobs that wait for them.

They are written in the notation of ``chunk_story``. Most have the graph of the README's example.
"""

from tests.acceptance.chunk_story import story

README = "A=3: B; B=2: E; E=6"
START = "submit A 1-6 id=one => ready E[1-6], waiting B[1,2] B[3,4] B[5,6] A[1-3] A[4-6]"
ROOTED = "finish E[1-6] => succeeded E[1-6], ready B[1,2] B[3,4] B[5,6], waiting A[1-3] A[4-6]"

FAILING = {
    "all chunks run, and their successes are recorded": story(
        README,
        START,
        ROOTED,
        "finish B[1,2] => succeeded E[1-6] B[1,2], ready B[3,4] B[5,6], waiting A[1-3] A[4-6]",
        "finish B[3,4] => succeeded E[1-6] B[1,2] B[3,4], ready B[5,6] A[1-3], waiting A[4-6]",
        "finish A[1-3] B[5,6] => succeeded E[1-6] B[1,2] B[3,4] B[5,6] A[1-3], ready A[4-6]",
        "finish A[4-6] => succeeded E[1-6] B[1,2] B[3,4] B[5,6] A[1-3] A[4-6], one is succeeded",
        fresh="E[1-6] B[1-6] A[1-6]",
    ),
    "the next submission runs only failed and unfinished chunks again": story(
        README,
        START,
        ROOTED,
        "fail B[3,4] => succeeded E[1-6], failed B[3,4], ready B[1,2] B[5,6], upstream_failed A[1-3] A[4-6]",
        "finish B[1,2] B[5,6] => succeeded E[1-6] B[1,2] B[5,6], failed B[3,4], upstream_failed A[1-3] A[4-6],"
        "one is failed",
        "wait 600 => succeeded E[1-6] B[1,2] B[5,6], failed B[3,4], upstream_failed A[1-3] A[4-6]",
        "submit A 1-6 id=two => succeeded E[1-6] B[1,2] B[5,6], failed B[3,4], upstream_failed A[1-3] A[4-6],"
        "ready B'[3,4], waiting A'[1-3] A'[4-6]",
        "finish B'[3,4] A'[1-3] A'[4-6] => succeeded E[1-6] B[1,2] B[5,6] B'[3,4] A'[1-3] A'[4-6], failed B[3,4],"
        "upstream_failed A[1-3] A[4-6], two is succeeded",
        fresh="E[1-6] B[1-6] A[1-6]",
        ran="E[1-6]:1 B[1,2]:1 B'[3,4]:1",
    ),
    "a leaf fails on one branch; the other runs to its end": story(
        "A=2: B, F; B=2: C; C=1; F=2: D; D=2",
        "submit A 1,2 id=one => ready C[1] C[2] D[1,2], waiting B[1,2] F[1,2] A[1,2]",
        "fail C[1] => failed C[1], upstream_failed B[1,2] A[1,2], ready C[2] D[1,2], waiting F[1,2]",
        "finish C[2] D[1,2] => failed C[1], upstream_failed B[1,2] A[1,2], succeeded C[2] D[1,2], ready F[1,2]",
        "finish F[1,2] => failed C[1], upstream_failed B[1,2] A[1,2], succeeded C[2] D[1,2] F[1,2], one is failed",
        fresh="C[2] D[1,2] F[1,2]",
    ),
    "a rerun of a failed chunk makes its downstream chunks wait again": story(
        README,
        START,
        ROOTED,
        "fail B[3,4] => succeeded E[1-6], failed B[3,4], ready B[1,2] B[5,6], upstream_failed A[1-3] A[4-6]",
        "finish B[1,2] B[5,6] => succeeded E[1-6] B[1,2] B[5,6], failed B[3,4], upstream_failed A[1-3] A[4-6],"
        "one is failed",
        "rerun B[3,4] => succeeded E[1-6] B[1,2] B[5,6], ready B[3,4], waiting A[1-3] A[4-6]",
        "finish B[3,4] A[1-3] A[4-6] => succeeded E[1-6] B[1,2] B[5,6] B[3,4] A[1-3] A[4-6]",
        fresh="E[1-6] B[1-6] A[1-6]",
        ran="E[1-6]:1 B[1,2]:1 B[3,4]:2 B[5,6]:1 A[1-3]:1",
    ),
    "a rerun of a downstream chunk runs its failed dependency again": story(
        "A=2: B; B=2",
        "submit A 1,2 id=one => ready B[1,2], waiting A[1,2]",
        "fail B[1,2] => failed B[1,2], upstream_failed A[1,2], one is failed",
        "rerun A[1,2] => ready B[1,2], waiting A[1,2]",
        "finish B[1,2] A[1,2] => succeeded B[1,2] A[1,2]",
    ),
    "a chunk can be run again after a success, a failure or a cancellation": story(
        "A=1: B; B=1",
        "submit A 1,2,3 id=one => ready B[1] B[2] B[3], waiting A[1] A[2] A[3]",
        "finish B[1] A[1] => succeeded B[1] A[1], ready B[2] B[3], waiting A[2] A[3]",
        "fail B[2] => succeeded B[1] A[1], failed B[2], upstream_failed A[2], ready B[3], waiting A[3]",
        "cancel B[3] => succeeded B[1] A[1], failed B[2], upstream_failed A[2] A[3], cancelled B[3], one is failed",
        "rerun A[1] B[2] B[3] => succeeded B[1], ready A[1] B[2] B[3], waiting A[2] A[3]",
        "finish A[1] B[2] B[3] A[2] A[3] => succeeded B[1] B[2] B[3] A[1] A[2] A[3]",
        ran="A[1]:2 B[1]:1 B[2]:2 B[3]:1",
    ),
}

LOSING = {
    "a chunk runs again if its worker is lost, and no other chunk is affected": story(
        README,
        START,
        ROOTED,
        "start B[1,2] => succeeded E[1-6], running B[1,2], ready B[3,4] B[5,6], waiting A[1-3] A[4-6]",
        "wait 10 => succeeded E[1-6], running B[1,2], ready B[3,4] B[5,6], waiting A[1-3] A[4-6]",
        "wait 10 => succeeded E[1-6], ready B[1,2] B[3,4] B[5,6], waiting A[1-3] A[4-6]",
        "finish B[1,2] B[3,4] A[1-3] => succeeded E[1-6] B[1,2] B[3,4] A[1-3], ready B[5,6], waiting A[4-6]",
        ran="B[1,2]:2 B[3,4]:1 A[1-3]:1",
    ),
}

CANCELLING = {
    "if a submission is cancelled, its finished chunks stay, and all other chunks are cancelled": story(
        README,
        START,
        ROOTED,
        "start B[1,2] => succeeded E[1-6], running B[1,2], ready B[3,4] B[5,6], waiting A[1-3] A[4-6]",
        "withdraw one => succeeded E[1-6], cancelled B[1,2] B[3,4] B[5,6] A[1-3] A[4-6], one is cancelled",
        "wait 60 => succeeded E[1-6], cancelled B[1,2] B[3,4] B[5,6] A[1-3] A[4-6]",
        fresh="E[1-6]",
    ),
    "if a chunk is cancelled, the chunks that need it cannot run, and all other chunks do": story(
        README,
        START,
        ROOTED,
        "cancel B[1,2] => succeeded E[1-6], cancelled B[1,2], upstream_failed A[1-3], ready B[3,4] B[5,6],"
        "waiting A[4-6]",
        "finish B[3,4] B[5,6] A[4-6] => succeeded E[1-6] B[3,4] B[5,6] A[4-6], cancelled B[1,2],"
        "upstream_failed A[1-3], one is failed",
        fresh="E[1-6] B[3-6] A[4-6]",
    ),
    "a cancelled chunk satisfies no dependency": story(
        "A=2: B; B=2",
        "submit B 1,2 id=one => ready B[1,2]",
        "withdraw one => cancelled B[1,2], one is cancelled",
        "submit A 1,2 id=two => cancelled B[1,2], ready B'[1,2], waiting A[1,2]",
        "finish B'[1,2] A[1,2] => cancelled B[1,2], succeeded B'[1,2] A[1,2], two is succeeded",
    ),
    "a submission that waits to be planned is cancelled": story(
        "A=2: B; B=2",
        "submit B 1,2 id=one => ready B[1,2]",
        "submit A 1,2 id=two => ready B[1,2], two is received",
        "withdraw two => ready B[1,2], two is cancelled",
        "finish B[1,2] => succeeded B[1,2], one is succeeded",
        "wait 60 => succeeded B[1,2]",
    ),
}
