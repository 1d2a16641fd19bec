"""Nodes with a state, and edges from parent to child."""

from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.dependency import When
from sluice.jobs.states import State

_TIMES, _LOOP = "\N{MULTIPLICATION SIGN}", "\N{CLOCKWISE OPEN CIRCLE ARROW}"


def table_id(name: str) -> str:
    """Return the ID of an external table. An app may have the same name."""
    return f"table {name}"


class Node(Struct, frozen=True):
    """App, without key and state; external table; job; or ``count`` jobs of one app in one state.

    For many jobs, ``key`` is the first and the last key. ``since`` is when the state was entered, for many jobs the
    first time. ``loops``: jobs of the app may need other jobs of the same app. ``is_table``: it is a table that no app
    fills, and ``app`` is its name.
    """

    app: str
    key: str | None = None
    state: State | None = None
    since: datetime | None = None
    count: int = 1
    loops: bool = False
    is_table: bool = False

    @property
    def head(self) -> str:
        """First line of the node's text: the app, the number of jobs, and a sign for ``loops``."""
        many = f"{_TIMES}{self.count}" if self.count > 1 else ""
        return " ".join(filter(None, (self._name, many, _LOOP if self.loops else "")))

    @property
    def id(self) -> str:
        """ID of the node, unique in its graph."""
        return self._name if self.key is None else f"{self.app}/{self.key}"

    @property
    def _name(self) -> str:
        return table_id(self.app) if self.is_table else self.app


class Edge(Struct, frozen=True, order=True):
    """Edge from parent to child. ``group`` names its alternative if the child has several. ``when`` is the required
    outcome of the parent. ``added``: a job has added the dependency while it ran; the definitions do not have it.
    """

    source: str
    target: str
    group: str = ""
    when: When = "succeeded"
    added: bool = False

    @property
    def label(self) -> str:
        """Unusual properties of the edge: ``slow``, ``failed``, ``slow: failed``."""
        return ": ".join(filter(None, (self.group, "" if self.when == "succeeded" else self.when)))


class Graph(Struct, frozen=True):
    """Nodes, and edges between them.

    Parents come before children, except for apps that two-way functions join in a cycle. ``title`` names the
    subject of the picture, ``note`` the omitted parts, and ``focus`` the ID of the central node, if there is any.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    title: str = ""
    note: str = ""
    focus: str = ""
