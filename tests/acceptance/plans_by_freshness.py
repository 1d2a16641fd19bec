"""Expected plans with dependencies that may be fresh enough, in the notation of ``chunk_notation``.

Freshness is decided chunk by chunk. If one ID of a chunk is stale, or the app never ran on it, the whole chunk runs.
"""

from tests.acceptance.plans_by_chunk import DIAMOND, Case

LAGS: dict[str, Case] = {
    "as old as it may be": Case("A=2: B; B=2", "A 1,2", "A[1,2]", known="B[1,2] 60m", fresh="B[1,2]"),
    "a minute older": Case("A=2: B; B=2", "A 1,2", "B[1,2]; A[1,2] <- B[1,2]", known="B[1,2] 61m"),
    "a second older": Case("A=2: B; B=2", "A 1,2", "B[1,2]; A[1,2] <- B[1,2]", known="B[1,2] 3601s"),
    "a millisecond older": Case("A=2: B; B=2", "A 1,2", "B[1,2]; A[1,2] <- B[1,2]", known="B[1,2] 3600.001s"),
    "a lag in hours": Case("A=2: B(6h); B=2", "A 1,2", "A[1,2]", known="B[1,2] 6h", fresh="B[1,2]"),
    "a lag in seconds": Case("A=2: B(90s); B=2", "A 1,2", "B[1,2]; A[1,2] <- B[1,2]", known="B[1,2] 91s"),
    "lag 0: the dependency always runs, even if it has just run": Case(
        "A=2: B(0); B=2", "A 1,2", "B[1,2]; A[1,2] <- B[1,2]", known="B[1,2] 0s"
    ),
    "lag 0 with a unit": Case("A=2: B(0s); B=2", "A 1,2", "B[1,2]; A[1,2] <- B[1,2]", known="B[1,2] 0s"),
    "lag 0, whichever IDs it ran on": Case(
        "A=2: B(0 any); B=2", "A 1,2", "B[1,2]; A[1,2] <- B[1,2]", known="B[1,2] 0s", ran="B 0s"
    ),
    "two minutes ago on one ID, never on the other": Case(
        "report_A=2: report_B(2); report_B=1",
        "report_A 1000,1234",
        "report_B[1234]; report_A[1000,1234] <- report_B[1234]",
        known="report_B[1000] 2m",
        fresh="report_B[1000]",
    ),
}

CHUNKS: dict[str, Case] = {
    "the requested app runs, however fresh it is": Case("A=2", "A 1-4", "A[1,2]; A[3,4]", known="A[1-4] 1s"),
    "one ID never ran": Case("A=3: B; B=3", "A 1-3", "B[1-3]; A[1-3] <- B[1-3]", known="B[1,2] 30m"),
    "the first ID ran lately, the second never ran": Case(
        "A=2: B; B=2", "A 1,2", "B[1,2]; A[1,2] <- B[1,2]", known="B[1] 5m"
    ),
    "one ID is stale": Case("A=3: B; B=3", "A 1-3", "B[1-3]; A[1-3] <- B[1-3]", known="B[1,2] 5m; B[3] 61m"),
    "one graph is fresh, the other is not": Case(
        "A=2: B; B=2",
        "A 1-4",
        "A[1,2]; B[3,4]; A[3,4] <- B[3,4]",
        known="B[1,2] 5m; B[3,4] 2h",
        fresh="B[1,2]",
    ),
    "one chunk of a graph is fresh, the other is not": Case(
        "A=2: B; B=1", "A 1,2", "B[2]; A[1,2] <- B[2]", known="B[1] 5m; B[2] 2h", fresh="B[1]"
    ),
    "the middle chunk of three is stale": Case(
        "A=3: B; B=2: E; E=6",
        "A 1-6",
        "B[3,4]; A[1-3] <- B[3,4]; A[4-6] <- B[3,4]",
        known="B[1,2] 5m; B[3] 5m; B[4] 61m; B[5,6] 5m; E[1-6] 5m",
        fresh="B[1,2] B[5,6] E[1-6]",
    ),
    "chunks that only fresh chunks need are not in the plan": Case(
        "A=4: B; B=2: E; E=1",
        "A 1-4",
        "E[3]; E[4]; B[3,4] <- E[3], E[4]; A[1-4] <- B[3,4]",
        known="B[1,2] 5m",
        fresh="B[1,2]",
    ),
    "a long chunk runs even if a single short chunk needs it": Case(
        "A=2: B; B=2: E; E=4",
        "A 1-4",
        "E[1-4]; A[1,2]; B[3,4] <- E[1-4]; A[3,4] <- B[3,4]",
        known="B[1,2] 5m; E[3,4] 5m",
        fresh="B[1,2]",
    ),
    "a stale dependency of a fresh chunk does not run": Case(
        "A=2: B; B=2: E; E=2", "A 1,2", "A[1,2]", known="B[1,2] 5m; E[1,2] 1000m", fresh="B[1,2]"
    ),
    "a stale dependency of a fresh chunk runs if another chunk needs it": Case(
        "A=2: B, C; B=2: C; C=2",
        "A 1,2",
        "C[1,2]; A[1,2] <- C[1,2]",
        known="B[1,2] 5m; C[1,2] 61m",
        fresh="B[1,2]",
    ),
    "a diamond in which everything is stale": Case(
        DIAMOND, "A 1,2", "D[1,2]; B[1,2] <- D[1,2]; C[1,2] <- D[1,2]; A[1,2] <- B[1,2], C[1,2]"
    ),
    "a dependency fresh enough for only the first of two apps: both wait for its run": Case(
        "A=2: B, C; B=2: D(60); C=2: D(5); D=2",
        "A 1,2",
        "D[1,2]; B[1,2] <- D[1,2]; C[1,2] <- D[1,2]; A[1,2] <- B[1,2], C[1,2]",
        known="D[1,2] 30m",
    ),
    "a dependency fresh enough for the app that runs, but not for a fresh app": Case(
        "A=2: B, C; B=2: D(60); C=2: D(5); D=2",
        "A 1,2",
        "B[1,2]; A[1,2] <- B[1,2]",
        known="D[1,2] 30m; C[1,2] 1m",
        fresh="C[1,2] D[1,2]",
    ),
}

ANY_IDS: dict[str, Case] = {
    "it ran on two of three IDs": Case(
        "A=3: B(any); B=3", "A 1-3", "A[1-3]", known="B[1,2] 30m", ran="B 30m", fresh="B[1-3]"
    ),
    "it ran on other IDs only": Case("A=3: B(any); B=3", "A 1-3", "A[1-3]", ran="B 30m", fresh="B[1-3]"),
    "it ran as long ago as its lag allows": Case(
        "A=3: B(any); B=3", "A 1-3", "A[1-3]", ran="B 60m", fresh="B[1-3]"
    ),
    "it ran too long ago": Case("A=3: B(any); B=3", "A 1-3", "B[1-3]; A[1-3] <- B[1-3]", ran="B 61m"),
    "it ran only as a dependency of another app": Case(
        "A=3: B(any); B=3", "A 1-3", "B[1-3]; A[1-3] <- B[1-3]", known="B[1,2] 5m; B[3] 2h"
    ),
    "another app ran": Case("A=3: B(any); B=3", "A 1-3", "B[1-3]; A[1-3] <- B[1-3]", ran="A 5m"),
    "it never ran": Case("A=3: B(any); B=3", "A 1-3", "B[1-3]; A[1-3] <- B[1-3]"),
    "it is fresh on each ID, whichever app it ran for": Case(
        "A=3: B(any); B=3", "A 1-3", "A[1-3]", known="B[1-3] 5m", fresh="B[1-3]"
    ),
    "one app accepts any IDs, the other does not": Case(
        "A=2: B, C; B=2: D(any); C=2: D; D=2",
        "A 1,2",
        "D[1,2]; B[1,2] <- D[1,2]; C[1,2] <- D[1,2]; A[1,2] <- B[1,2], C[1,2]",
        ran="D 5m",
    ),
}
