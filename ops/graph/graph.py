"""What is drawn: nodes with a colour, edges from parent to child."""

from msgspec import Struct

from jobs.states import DEAD, State

_COLOURS = {
    State.SUCCEEDED: "#8fd19e",
    State.RUNNING: "#7cc7e8",
    State.EXECUTED: "#7cc7e8",
    State.READY: "#a9b7f0",
    State.SKIPPED: "#d7d7d7",
    State.CANCELLED: "#d7d7d7",
}
_DEAD, _LIVE, _APP = "#f1a0a0", "#f7e3a1", "#eeeeee"


class Node(Struct, frozen=True):
    """``state`` is None for an app, which has none."""

    id: str
    label: str
    state: State | None = None

    @property
    def colour(self) -> str:
        if self.state is None:
            return _APP
        return _COLOURS.get(self.state, _DEAD if self.state in DEAD else _LIVE)


class Edge(Struct, frozen=True, order=True):
    """``group`` names the alternative it belongs to, where the child has more than one."""

    source: str
    target: str
    group: str = ""


class Graph(Struct, frozen=True):
    """Each edge joins two of the nodes, and none leads in a circle."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
