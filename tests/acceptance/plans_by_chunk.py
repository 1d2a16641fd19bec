"""Expected plans of submissions about work IDs, in the notation of ``chunk_notation``: the cuts of lists of IDs, the
dependencies, and the kwargs that jobs pass on.

Nothing has run before, except the successes in ``known``. ``asked`` is an app and its work IDs in any spelling. Without
IDs the app selects them. All jobs have the kwargs in ``given``, except the jobs in ``kwargs``.
"""

from typing import NamedTuple

README = "A=3: B, C; B=2: E; C=6: D; D=6; E=6"
DIAMOND = "A=2: B, C; B=2: D; C=2: D; D=2"


class Case(NamedTuple):
    """Submission with its expected plan. ``known`` has the ages of successes by app and work ID. ``ran`` has the age of
    the last successful submission of an app. ``fresh`` has the chunks that need not run."""

    apps: str
    asked: str
    jobs: str
    known: str = ""
    ran: str = ""
    fresh: str = ""
    given: str = ""
    kwargs: str = ""


CUTS: dict[str, Case] = {
    "the example of the README": Case(
        README,
        "A 1-6",
        "E[1-6]; B[1,2] <- E[1-6]; B[3,4] <- E[1-6]; B[5,6] <- E[1-6];"
        "A[1-3] <- B[1,2], B[3,4]; A[4-6] <- B[3,4], B[5,6]",
        known="C[1-6] 10m; B[1-6] 61m; E[1-6] 1d",
        fresh="C[1-6]",
    ),
    "the same with a smaller size, which cuts it into two graphs": Case(
        "A=3: B; B=2: E; E=4",
        "A 1-6",
        "E[1-4]; B[1,2] <- E[1-4]; B[3,4] <- E[1-4]; A[1-3] <- B[1,2], B[3,4]; A[4] <- B[3,4];"
        "E[5,6]; B[5,6] <- E[5,6]; A[5,6] <- B[5,6]",
    ),
    "three chains, where all sizes are the same": Case(
        "A=2: B; B=2: C; C=2",
        "A 1-6",
        "C[1,2]; B[1,2] <- C[1,2]; A[1,2] <- B[1,2]; C[3,4]; B[3,4] <- C[3,4]; A[3,4] <- B[3,4];"
        "C[5,6]; B[5,6] <- C[5,6]; A[5,6] <- B[5,6]",
    ),
    "three chains from one root": Case(
        "A=2: B; B=2: C; C=6",
        "A 1-6",
        "C[1-6]; B[1,2] <- C[1-6]; B[3,4] <- C[1-6]; B[5,6] <- C[1-6];"
        "A[1,2] <- B[1,2]; A[3,4] <- B[3,4]; A[5,6] <- B[5,6]",
    ),
    "one, two, one": Case(
        "X=2: E; E=1: H; H=2", "X 1,2", "H[1,2]; E[1] <- H[1,2]; E[2] <- H[1,2]; X[1,2] <- E[1], E[2]"
    ),
    "chunks that overlap": Case(
        "A=6: B; B=2: C; C=3",
        "A 1-6",
        "C[1-3]; C[4-6]; B[1,2] <- C[1-3]; B[3,4] <- C[1-3], C[4-6]; B[5,6] <- C[4-6];"
        "A[1-6] <- B[1,2], B[3,4], B[5,6]",
    ),
    "IDs out of order": Case("A=4", "A [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]", "A[1-4]; A[5-8]; A[9,10]"),
    "sizes that do not divide each other": Case(
        "A=2: B; B=3",
        "A 1-7",
        "B[1-3]; A[1,2] <- B[1-3]; A[3] <- B[1-3]; B[4-6]; A[4,5] <- B[4-6]; A[6] <- B[4-6]; B[7]; A[7] <- B[7]",
    ),
    "a short graph at the end": Case(
        "A=4: B; B=2", "A 1-6", "B[1,2]; B[3,4]; A[1-4] <- B[1,2], B[3,4]; B[5,6]; A[5,6] <- B[5,6]"
    ),
    "chunks are cut by the positions of the IDs in the sorted list, not by their values": Case(
        "A=2: B; B=4",
        "A [50, 1, 10, 2, 12, 11]",
        "B[1,2,10,11]; A[1,2] <- B[1,2,10,11]; A[10,11] <- B[1,2,10,11]; B[12,50]; A[12,50] <- B[12,50]",
    ),
    "an app that need not run also decides where the graphs are cut": Case(
        "A=3: B, C; B=2; C=4",
        "A 1-6",
        "B[1,2]; B[3,4]; B[5,6]; A[1-3] <- B[1,2], B[3,4]; A[4] <- B[3,4]; A[5,6] <- B[5,6]",
        known="C[1-6] 5m",
        fresh="C[1-4] C[5,6]",
    ),
    "a long chunk that need not run changes no edge": Case(
        "A=2: B, C; B=2; C=100",
        "A 1-4",
        "B[1,2]; A[1,2] <- B[1,2]; B[3,4]; A[3,4] <- B[3,4]",
        known="C[1-4] 5m",
        fresh="C[1-4]",
    ),
    "runs with gaps": Case("A=100", "A 0-4,7-9,11", "A[0-4,7-9,11]"),
    "four in twos": Case("A=2", "A 1-4", "A[1,2]; A[3,4]"),
    # Forms of work IDs.
    "numbers below zero": Case("A=3", "A [-2, -1, 0, 5]", "A[-2-0]; A[5]"),
    "each ID counts once": Case("A=2", "A [1, 1, 2]", "A[1,2]"),
    "runs in a list": Case("A=3", "A [[1, 4]]", "A[1-3]; A[4]"),
    "runs among numbers": Case("A=9", "A [[3, 5], 1, [8]]", "A[1,3-5,8]"),
    "texts": Case("A=2: B; B=1", "A c,a,b", "B[a]; B[b]; A[a,b] <- B[a], B[b]; B[c]; A[c] <- B[c]"),
    "texts in a list": Case("A=2", 'A ["a", "c", "b", "a"]', "A[a,b]; A[c]"),
    "runs among texts": Case("A=2", 'A ["north", [7, 8]]', "A[7,8]; A[north]"),
    # Selection of work IDs.
    "the app selects a list": Case("A=2 select=two: B(0); B=1", "A", "B[0]; B[1]; A[0,1] <- B[0], B[1]"),
    "the first item of a selected tuple has the IDs": Case("A=2 select=out_of_order", "A", "A[3,4]; A[5]"),
    "the app selects by a kwarg of the submission": Case(
        "A=2 select=by_region", "A", "A[1,2]", given="region=north"
    ),
    "the app does not select if the submission names IDs": Case("A=2 select=broken", "A 7", "A[7]"),
    "only the requested app selects": Case("A=2: B; B=2 select=broken", "A 7", "B[7]; A[7] <- B[7]"),
    "kwargs from default_work_ids replace the given kwargs": Case(
        "A=2 default=three_and_other_kwargs: B; B=2",
        "A",
        "B[1,2]; A[1,2] <- B[1,2]; B[3]; A[3] <- B[3]",
        given="only=1",
        kwargs="A k=1; B k=1",
    ),
}

SHAPES: dict[str, Case] = {
    "a dependency of two apps is shared": Case(
        "A=2: B, C; B=2: D; C=2: D, E; D=2; E=2",
        "A 1,2",
        "D[1,2]; E[1,2]; B[1,2] <- D[1,2]; C[1,2] <- D[1,2], E[1,2]; A[1,2] <- B[1,2], C[1,2]",
    ),
    "a unique dependency of two apps is not shared": Case(
        "A=2: B, C; B=2: D(unique); C=2: D(unique); D=2",
        "A 1,2",
        "D[1,2]; D'[1,2]; B[1,2] <- D[1,2]; C[1,2] <- D'[1,2]; A[1,2] <- B[1,2], C[1,2]",
    ),
    "a dependency is unique for one app and shared by two other apps": Case(
        "A=2: B, C, F; B=2: D(unique); C=2: D; F=2: D; D=2",
        "A 1,2",
        "D[1,2]; D'[1,2]; B[1,2] <- D'[1,2]; C[1,2] <- D[1,2]; F[1,2] <- D[1,2];"
        "A[1,2] <- B[1,2], C[1,2], F[1,2]",
    ),
    "one dependency twice, once as unique": Case(
        "A=2: B, B(unique); B=2", "A 1,2", "B[1,2]; B'[1,2]; A[1,2] <- B[1,2], B'[1,2]"
    ),
    "a shared parent has one job of its unique dependency": Case(
        "A=2: B, C; B=2: X; C=2: X; X=2: D(unique); D=2",
        "A 1,2",
        "D[1,2]; X[1,2] <- D[1,2]; B[1,2] <- X[1,2]; C[1,2] <- X[1,2]; A[1,2] <- B[1,2], C[1,2]",
    ),
    "a unique dependency may have dependencies": Case(
        "A=2: B(unique); B=2: D; D=2",
        "A 1-4",
        "D[1,2]; B[1,2] <- D[1,2]; A[1,2] <- B[1,2]; D[3,4]; B[3,4] <- D[3,4]; A[3,4] <- B[3,4]",
    ),
    "dependencies of unique jobs are shared": Case(
        "A=2: B(unique), C; C=2: B(unique); B=2: D; D=2",
        "A 1,2",
        "D[1,2]; B[1,2] <- D[1,2]; B'[1,2] <- D[1,2]; C[1,2] <- B'[1,2]; A[1,2] <- B[1,2], C[1,2]",
    ),
    "a unique dependency need not run if it is fresh": Case(
        "A=2: B(unique); B=2: D; D=2", "A 1,2", "A[1,2]", known="B[1,2] 5m", fresh="B[1,2]"
    ),
    "a dependency both directly and through another app": Case(
        "A=2: B, C; B=2: C; C=2", "A 1,2", "C[1,2]; B[1,2] <- C[1,2]; A[1,2] <- B[1,2], C[1,2]"
    ),
    "two dependencies of one app share a dependency": Case(
        "R=2: A, B; A=2: C, D; B=2: D, E; C=2: F; D=2: F; E=2: F; F=2",
        "R 1,2",
        "F[1,2]; C[1,2] <- F[1,2]; D[1,2] <- F[1,2]; E[1,2] <- F[1,2]; A[1,2] <- C[1,2], D[1,2];"
        "B[1,2] <- D[1,2], E[1,2]; R[1,2] <- A[1,2], B[1,2]",
    ),
    "names that look like numbered ones": Case(
        "a=1: a_0; a_0=1", "a 1,2", "a_0[1]; a_0[2]; a[1] <- a_0[1]; a[2] <- a_0[2]"
    ),
    "twelve deep": Case(
        "; ".join(f"J{place}: J{place + 1}" for place in range(11)),
        "J0 1",
        "J11[1];" + ";".join(f"J{place}[1] <- J{place + 1}[1]" for place in range(11)),
    ),
    "two hundred deep": Case(
        "; ".join(f"J{place}: J{place + 1}" for place in range(199)),
        "J0 1",
        "J199[1];" + ";".join(f"J{place}[1] <- J{place + 1}[1]" for place in range(199)),
    ),
}

KWARGS: dict[str, Case] = {
    "every job gets the kwargs of the submission": Case(
        "goodbye=2 select=two: hello(0); hello=1",
        "goodbye",
        "hello[0]; hello[1]; goodbye[0,1] <- hello[0], hello[1]",
        given="final_message=Thanks",
    ),
    "custom kwargs of a dependency override the given kwargs, also for its own dependencies": Case(
        "A=2: B(x=1 y=1); B=2: D(y=2); D=2",
        "A 1,2",
        "D[1,2]; B[1,2] <- D[1,2]; A[1,2] <- B[1,2]",
        given="x=0 z=7",
        kwargs="A x=0 z=7; B x=1 y=1 z=7; D x=1 y=2 z=7",
    ),
    "a dependency with different kwargs on two paths has two jobs": Case(
        "A=2: B(x=1), C(x=2); B=2: D; C=2: D; D=2",
        "A 1,2",
        "D[1,2]; D'[1,2]; B[1,2] <- D[1,2]; C[1,2] <- D'[1,2]; A[1,2] <- B[1,2], C[1,2]",
        kwargs="B x=1; C x=2; D x=1; D' x=2",
    ),
    "a dependency with equal kwargs on two paths has one job": Case(
        "A=2: B(x=1), C(x=2); B=2: D(x=3); C=2: D(x=3); D=2",
        "A 1,2",
        "D[1,2]; B[1,2] <- D[1,2]; C[1,2] <- D[1,2]; A[1,2] <- B[1,2], C[1,2]",
        kwargs="B x=1; C x=2; D x=3",
    ),
    "custom kwargs that equal the given kwargs make no difference": Case(
        "A=2: B(x=1), C; B=2: D; C=2: D; D=2",
        "A 1,2",
        "D[1,2]; B[1,2] <- D[1,2]; C[1,2] <- D[1,2]; A[1,2] <- B[1,2], C[1,2]",
        given="x=1",
    ),
    "one dependency with two settings": Case(
        "A=2: B(x=1), B(x=2); B=2",
        "A 1,2",
        "B[1,2]; B'[1,2]; A[1,2] <- B[1,2], B'[1,2]",
        kwargs="B x=1; B' x=2",
    ),
}
