"""Graph as text for other programs."""

import html
from collections import defaultdict

from sluice.ops.graph.model import Edge, Graph, Node
from sluice.ops.graph.render.stylesheet import colour
from sluice.ops.text import legible


def as_document(graph: Graph) -> dict[str, object]:
    """Return a graph as plain data for JSON."""
    nodes = [
        {
            "id": node.id,
            "label": node.id,
            "app": node.app,
            "key": node.key,
            "state": node.state,
            "since": node.since,
        }
        for node in graph.nodes
    ]
    edges = [
        {
            "from": edge.source,
            "to": edge.target,
            "group": edge.group,
            "when": edge.when,
            "added": edge.added,
        }
        for edge in graph.edges
    ]
    return {"nodes": nodes, "edges": edges} | ({"note": graph.note} if graph.note else {})


def as_mermaid(graph: Graph) -> str:
    places = {node.id: f"n{place}" for place, node in enumerate(graph.nodes)}
    lines = ["graph TD"]
    lines += [f'{places[node.id]}["{"<br/>".join(map(_entities, _words(node)))}"]' for node in graph.nodes]
    for edge in graph.edges:
        label = f'|"{_entities(edge.label)}"|' if edge.label else ""
        arrow = "==>" if edge.added else "-.->" if edge.group else "-->"
        lines.append(f"{places[edge.source]} {arrow}{label} {places[edge.target]}")
    by_state = defaultdict(list)
    for node in graph.nodes:
        if node.state:
            by_state[node.state].append(places[node.id])
    for state, ids in by_state.items():
        lines += [f"classDef {state} fill:{colour(state).light},color:#000", f"class {','.join(ids)} {state}"]
    return "\n    ".join(lines)


def as_dot(graph: Graph) -> str:
    """Return a graph as DOT. It is drawn from left to right, because names are wide and a job may have many parents."""
    lines = [
        "digraph sluice {",
        "    rankdir=LR;",
        '    node [shape=box, style="filled,rounded", fontname="sans-serif", fontsize=11];',
        '    edge [color="#888888", fontname="sans-serif", fontsize=9];',
    ]
    for node in graph.nodes:
        fill = _quoted(colour(node.state).light)
        lines.append(f"    {_quoted(node.id)} [label={_quoted(*_words(node))}, fillcolor={fill}];")
    lines += [f"    {_quoted(edge.source)} -> {_quoted(edge.target)}{_look(edge)};" for edge in graph.edges]
    return "\n".join([*lines, "}"])


def _words(node: Node) -> list[str]:
    """Return the texts of a node. They include the state, because some readers do not know or cannot see the
    colours.
    """
    name = [node.id] if node.count == 1 else [node.head, node.key or ""]
    return [*name, *filter(None, [node.state])]


def _look(edge: Edge) -> str:
    look = {"label": _quoted(edge.label)} if edge.label else {}
    if edge.added or edge.group:
        look["style"] = "dotted" if edge.added else "dashed"
    return f" [{', '.join(f'{word}={value}' for word, value in look.items())}]" if look else ""


def _entities(text: str) -> str:
    """Escape a text for Mermaid. Codes of characters begin with ``#`` there: ``#35;``, ``#quot;``."""
    return html.escape(legible(text).replace("#", "#35;"), quote=False).replace('"', "#quot;")


def _quoted(*lines: str) -> str:
    return '"' + r"\n".join(legible(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
