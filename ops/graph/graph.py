"""What is drawn: nodes with a state, edges from parent to child."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.gate import When
from sluice.jobs.states import State

_TIMES, _LOOP = "\N{MULTIPLICATION SIGN}", "\N{CLOCKWISE OPEN CIRCLE ARROW}"


class Node(Struct, frozen=True):
    """An app, which has no key and no state; a job; or ``count`` jobs of one app in one state, as one.

    ``key`` is of many the first and the last; ``since`` is when the state was entered, of many the first time.
    ``loops``: jobs of the app may need others of the same app.
    """

    app: str
    key: str | None = None
    state: State | None = None
    since: datetime | None = None
    count: int = 1
    loops: bool = False

    @property
    def head(self) -> str:
        """The app, and what is to be said of it at a glance."""
        many = f"{_TIMES}{self.count}" if self.count > 1 else ""
        return " ".join(filter(None, (self.app, many, _LOOP if self.loops else "")))

    @property
    def id(self) -> str:
        """No two nodes of a graph have the same."""
        return self.app if self.key is None else f"{self.app}/{self.key}"


class Edge(Struct, frozen=True, order=True):
    """``group`` names the alternative it belongs to, where the child has more than one; ``when`` is what the parent
    must come to."""

    source: str
    target: str
    group: str = ""
    when: When = "succeeded"

    @property
    def label(self) -> str:
        """What is out of the ordinary about it: ``slow``, ``failed``, ``slow: failed``."""
        return ": ".join(filter(None, (self.group, "" if self.when == "succeeded" else self.when)))


class Graph(Struct, frozen=True):
    """Each edge joins two of the nodes. These stand in an order that has parents before children, but for apps that
    two-way functions lead round in a circle. ``title`` says what it is a picture of, ``note`` what is not on it;
    ``focus`` is the id of the node that it is about, if there is one.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    title: str = ""
    note: str = ""
    focus: str = ""
