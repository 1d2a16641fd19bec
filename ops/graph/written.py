"""A graph as text for other programs."""

import html

from ops.graph.graph import Edge, Graph, Node


def as_document(graph: Graph) -> dict[str, object]:
    """Plain data for JSON."""
    return {
        "nodes": [{"id": node.id, "label": node.label, "state": node.state} for node in graph.nodes],
        "edges": [{"from": edge.source, "to": edge.target, "group": edge.group} for edge in graph.edges],
    }


def as_mermaid(graph: Graph) -> str:
    places = {node.id: f"n{place}" for place, node in enumerate(graph.nodes)}
    lines = ["graph TD"]
    lines += [
        f'    {places[node.id]}["{"<br/>".join(map(html.escape, _words(node)))}"]' for node in graph.nodes
    ]
    for edge in graph.edges:
        arrow = f'-->|"{html.escape(edge.group)}"|' if edge.group else "-->"
        lines.append(f"    {places[edge.source]} {arrow} {places[edge.target]}")
    lines += [f"    style {places[node.id]} fill:{node.colour}" for node in graph.nodes if node.state]
    return "\n".join(lines)


def as_dot(graph: Graph) -> str:
    """It lies on its side: names are wide, and a job may have many parents."""
    lines = [
        "digraph sluice {",
        "    rankdir=LR;",
        '    node [shape=box, style="filled,rounded", fontname="sans-serif", fontsize=11];',
        '    edge [color="#888888", fontname="sans-serif", fontsize=9];',
    ]
    lines += [
        f"    {_quoted(node.id)} [label={_quoted(*_words(node))}, fillcolor={_quoted(node.colour)}];"
        for node in graph.nodes
    ]
    lines += [f"    {_quoted(edge.source)} -> {_quoted(edge.target)}{_label(edge)};" for edge in graph.edges]
    return "\n".join([*lines, "}"])


def _words(node: Node) -> list[str]:
    """A colour alone tells little to who does not know it, or does not see it."""
    return [node.label, str(node.state)] if node.state else [node.label]


def _label(edge: Edge) -> str:
    return f" [label={_quoted(edge.group)}]" if edge.group else ""


def _quoted(*lines: str) -> str:
    return '"' + r"\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
