"""Submissions of some jobs of a graph of apps, and the jobs that have run at the end.

Every submission has the same ``push``. ``left`` has the other jobs in the ledger: pushed jobs that cannot run, and the
parents that they lack, because no submission requests these. A job with key 1 is written as the name of its app.
"""

from typing import NamedTuple


class Start(NamedTuple):
    apps: str
    wanted: str
    push: str
    ran: str
    left: str = ""


CHAIN = "a -> b -> c -> d -> e"
FORK = "a -> b, a -> c -> d"
JOIN = "a -> c, b -> c, c -> d"
DIAMOND = "a -> b, a -> c, b -> d, c -> d"
HOURGLASS = "a -> c, b -> c, c -> d, c -> e"
LADDER = "a -> b -> c, d -> e -> f, a -> e, e -> c"
TWINS = "a -> b -> c, x -> y -> z"

#: Starts that are submitted in one message only.
STARTS = [
    # Push leads down, pull leads up, and the middle does both.
    Start(CHAIN, "a", "all", "a b c d e"),
    Start(CHAIN, "c", "all", "a b c d e"),
    Start(CHAIN, "e", "all", "a b c d e"),
    # Without push, the ancestors and no more.
    Start(CHAIN, "c", "wanted", "a b c"),
    # A job that was pulled pushes as well.
    Start(FORK, "b", "all", "a b c d"),
    Start(FORK, "b d", "wanted", "a b c d"),
    # A join needs both sides: a job that was only pushed does not pull.
    Start(JOIN, "a", "all", "a", "waiting c, expected b"),
    Start(JOIN, "a d", "wanted", "a b c d"),
    Start(JOIN, "c", "wanted", "a b c"),
    Start(JOIN, "a a/2 b/2", "all", "a a/2 b/2 c/2 d/2", "waiting c, expected b"),
    # Two ways to one job.
    Start(DIAMOND, "b", "all", "a b c d"),
    Start(DIAMOND, "d", "wanted", "a b c d"),
    Start(HOURGLASS, "c", "all", "a b c d e"),
    # Two chains with rungs between them.
    Start(LADDER, "c", "wanted", "a b c d e"),
    Start(LADDER, "a", "all", "a b", "waiting c e, expected d"),
    # Several apps.
    Start(TWINS, "a z", "all", "a b c x y z"),
]

#: Starts of several jobs, which are submitted in one message, in a message each, and one after the other has ended.
STARTS_OF_SEVERAL = [
    Start(CHAIN, "a e", "all", "a b c d e"),
    Start(CHAIN, "b d", "wanted", "a b c d"),
    Start(CHAIN, "a e/2 c/3", "all", "a b c d e a/2 b/2 c/2 d/2 e/2 a/3 b/3 c/3 d/3 e/3"),
    Start(JOIN, "a b", "all", "a b c d"),
    Start(JOIN, "a b/2", "all", "a b/2", "waiting c c/2, expected b a/2"),
    Start(HOURGLASS, "a e", "wanted", "a b c e"),
    Start(LADDER, "a d", "all", "a b c d e f"),
    Start(TWINS, "b b/2 y/2", "wanted", "a a/2 b b/2 x/2 y/2"),
]
