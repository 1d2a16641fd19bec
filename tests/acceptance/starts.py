"""Where one may begin in a graph of apps, and what has run in the end.

``push`` is said of every submission. ``left`` are the jobs that are named and stay where they are, for nobody asks
for what they lack. A job of key 1 goes by the name of its app.
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

STARTS = [
    # Push leads down, pull leads up, and the middle does both.
    Start(CHAIN, "a", "all", "a b c d e"),
    Start(CHAIN, "c", "all", "a b c d e"),
    Start(CHAIN, "e", "all", "a b c d e"),
    Start(CHAIN, "a e", "all", "a b c d e"),
    # Without push, what is above and no more.
    Start(CHAIN, "a", "wanted", "a"),
    Start(CHAIN, "c", "wanted", "a b c"),
    Start(CHAIN, "e", "wanted", "a b c d e"),
    Start(CHAIN, "a e", "wanted", "a b c d e"),
    Start(CHAIN, "b d", "wanted", "a b c d"),
    # A job that was pulled pushes as well.
    Start(FORK, "a", "all", "a b c d"),
    Start(FORK, "b", "all", "a b c d"),
    Start(FORK, "b", "wanted", "a b"),
    Start(FORK, "b d", "wanted", "a b c d"),
    # A join needs both sides: what was only pushed does not pull.
    Start(JOIN, "a", "all", "a", "waiting c, expected b"),
    Start(JOIN, "a b", "all", "a b c d"),
    Start(JOIN, "a b", "wanted", "a b"),
    Start(JOIN, "a d", "wanted", "a b c d"),
    Start(JOIN, "c", "wanted", "a b c"),
    Start(JOIN, "a b/2", "all", "a b/2", "waiting c c/2, expected b a/2"),
    Start(JOIN, "a a/2 b/2", "all", "a a/2 b/2 c/2 d/2", "waiting c, expected b"),
    # Two ways to one job.
    Start(DIAMOND, "a", "all", "a b c d"),
    Start(DIAMOND, "b", "all", "a b c d"),
    Start(DIAMOND, "b", "wanted", "a b"),
    Start(DIAMOND, "b c", "wanted", "a b c"),
    Start(DIAMOND, "d", "wanted", "a b c d"),
    Start(HOURGLASS, "c", "all", "a b c d e"),
    Start(HOURGLASS, "c", "wanted", "a b c"),
    Start(HOURGLASS, "d", "wanted", "a b c d"),
    Start(HOURGLASS, "a b", "all", "a b c d e"),
    Start(HOURGLASS, "a e", "wanted", "a b c e"),
    # Two chains with rungs between them.
    Start(LADDER, "c", "wanted", "a b c d e"),
    Start(LADDER, "a", "all", "a b", "waiting c e, expected d"),
    Start(LADDER, "a d", "all", "a b c d e f"),
    Start(LADDER, "c f", "wanted", "a b c d e f"),
    # Several apps and several keys in one go.
    Start(TWINS, "c z", "wanted", "a b c x y z"),
    Start(TWINS, "a z", "all", "a b c x y z"),
    Start(TWINS, "b b/2 y/2", "wanted", "a a/2 b b/2 x/2 y/2"),
    Start(CHAIN, "a e/2 c/3", "all", "a b c d e a/2 b/2 c/2 d/2 e/2 a/3 b/3 c/3 d/3 e/3"),
]
