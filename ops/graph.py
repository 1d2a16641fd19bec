"""Graphs of apps and of live jobs, as data and in the forms that people look at."""

import html
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from jobs.catalogue import Catalogue
from jobs.ref import JobName
from jobs.states import DEAD, State
from ledger.connection import Tx
from ledger.reads.kinship import kinship

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


class Graph(Struct, frozen=True):
    """Edges lead from parent to child and carry the group's name where it is not the only one."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str, str], ...]


def app_graph(catalogue: Catalogue, around: str | None) -> Graph:
    """All apps, or one with its direct parents and children."""
    edges = {
        (parent, app.name, group.name if len(app.groups) > 1 else "")
        for app in catalogue.values()
        for group in app.groups
        for parents in group.all_of
        for parent in parents.apps
    }
    names = set(catalogue)
    if around is not None:
        around = catalogue.app(around).name
        edges = {edge for edge in edges if around in edge[:2]}
        names = {around, *(name for edge in edges for name in edge[:2])}
    nodes = tuple(Node(name, name) for name in sorted(names, key=lambda name: (catalogue.rank(name), name)))
    return Graph(nodes, tuple(sorted(edges)))


def job_graph(tx: Tx, name: JobName) -> Graph | None:
    """One job with everything above and below it that the ledger has."""
    found = kinship(tx, name)
    if found is None:
        return None
    nodes = tuple(Node(str(job.name), str(job.name), job.state) for job in found.jobs)
    return Graph(nodes, tuple((str(parent), str(child), "") for parent, child in found.needs))


def as_json(graph: Graph) -> str:
    return msgspec.json.encode(
        {
            "nodes": [{"id": node.id, "label": node.label, "state": node.state} for node in graph.nodes],
            "edges": [{"from": source, "to": target, "group": label} for source, target, label in graph.edges],
        }
    ).decode()


def as_mermaid(graph: Graph) -> str:
    places = {node.id: f"n{place}" for place, node in enumerate(graph.nodes)}
    lines = ["graph TD"]
    lines += [f'    {places[node.id]}["{html.escape(node.label)}"]' for node in graph.nodes]
    for source, target, label in graph.edges:
        arrow = f"-->|{html.escape(label)}|" if label else "-->"
        lines.append(f"    {places[source]} {arrow} {places[target]}")
    lines += [f"    style {places[node.id]} fill:{node.colour}" for node in graph.nodes if node.state]
    return "\n".join(lines)


def as_dot(graph: Graph) -> str:
    lines = ["digraph sluice {", "    node [shape=box, style=filled, fontname=sans];"]
    lines += [f'    {_quoted(node.id)} [label={_quoted(node.label)}, fillcolor="{node.colour}"];' for node in graph.nodes]
    for source, target, label in graph.edges:
        words = f" [label={_quoted(label)}]" if label else ""
        lines.append(f"    {_quoted(source)} -> {_quoted(target)}{words};")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


FORMATS: Mapping[str, Callable[[Graph], str]] = {"mermaid": as_mermaid, "dot": as_dot, "json": as_json}

