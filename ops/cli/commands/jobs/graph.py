"""Command ``sluice graph``: draw the apps, or the live graph of one job. The graph of the apps needs only the
definitions.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Verbatim
from sluice.ops.documents import formats
from sluice.ops.graph.app_graph import app_graph
from sluice.ops.graph.equal_jobs import folded
from sluice.ops.graph.model import Graph
from sluice.ops.graph.render.svg import as_svg
from sluice.ops.graph.text_formats import as_document, as_dot, as_mermaid


def _as_json(graph: Graph) -> str:
    return msgspec.json.format(msgspec.json.encode(as_document(graph)), indent=2).decode()


FORMATS: Mapping[str, Callable[[Graph], str]] = {
    "mermaid": as_mermaid,
    "dot": as_dot,
    "svg": as_svg,
    "json": _as_json,
}
_SUFFIXES = {".mmd": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".json": "json"}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "app", nargs="?", help="draw only this app with everything upstream and downstream; default: all apps"
    )
    parser.add_argument("key", nargs="?", help="draw the live graph of this job instead of the apps")
    parser.add_argument(
        "--format",
        choices=[*FORMATS],
        help="format of the graph; default: by the name of the file, or mermaid",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the graph to this file; default: stdout"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="draw every job; default: many equal jobs as one (JSON always has all)",
    )


def run(context: CommandContext, options: Options) -> int:
    graph = app_graph(context.catalogue, options.app) if options.key is None else _live(context, options)
    kind = _kind(context, options)
    drawn = graph if options.all or kind == "json" else folded(graph)
    if drawn.note:
        context.output.note(Paragraph(drawn.note, "yellow"))
    if (path := _path(options)) is None:
        context.output.answer(as_document(graph), Verbatim(FORMATS[kind](drawn)))
        if context.output.is_interactive and options.format is None:
            context.output.note(
                Paragraph("This is Mermaid text. For a picture, add: -o graph.svg", "bright_black")
            )
    else:
        _write(context, drawn, path, kind)
    return DONE


def _path(options: Options) -> Path | None:
    """Return the file to write. ``-o json`` is a format here, as it is for other commands."""
    return None if options.output in (None, *formats.FORMATS, formats.WIDE) else Path(options.output)


def _kind(context: CommandContext, options: Options) -> str:
    path = _path(options)
    if options.format is None and path is None and context.output.is_document:
        return "json"
    return options.format or _SUFFIXES.get(path.suffix if path else "", "mermaid")


def _write(context: CommandContext, graph: Graph, path: Path, kind: str) -> None:
    try:
        path.write_text(FORMATS[kind](graph) + "\n", encoding="utf8")
    except OSError as error:
        raise BadRequest(f"The picture cannot be written: {error}.", where=str(path)) from None
    written = {"file": str(path), "nodes": len(graph.nodes), "edges": len(graph.edges)}
    context.output.answer(written, Paragraph("{file}: {nodes} nodes, {edges} edges.".format(**written)))


def _live(context: CommandContext, options: Options) -> Graph:
    from sluice.ops.operations.installation import Installation  # noqa: PLC0415 - it takes longer than to draw the apps
    from sluice.ops.operations.job_answers import live_graph  # noqa: PLC0415 - loads the database driver, which only a live graph needs

    return live_graph(context, Installation(context), options.app, options.key)
