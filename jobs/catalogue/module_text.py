"""What of its module's text a function rests on."""

import ast
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

from sluice.jobs.catalogue.functions import source_of, text_of


def text_behind(function: Callable[..., Any]) -> str:
    """Its own text, and that of everything at the top of its module that it names, and that this names in turn.

    Its own decorators are left out: they say how it is defined. What it imports is not followed, nor what it reaches
    otherwise than by name. A function within another, or within a class, rests on all of that. Where the module has no
    text, ``source_of`` tells what there is.
    """
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = str(getattr(function, "__qualname__", "")).partition(".")[0]
    text = text_of(module) if module else ""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError):
        statements = []
    bound = [frozenset(_bound(each)) for each in statements]
    own = [place for place, names in enumerate(bound) if name in names]
    if not own:
        return source_of(function)
    wanted, found = {name}, set[int]()
    while reached := {place for place, names in enumerate(bound) if names & wanted} - found:
        found |= reached
        wanted |= {used for place in reached for used in _used(statements[place])}
    # As the parser counts them: a form feed, say, ends no line of its.
    lines = StringIO(text, newline=None).read().split("\n")
    return "\n".join(
        "\n".join(lines[_first(statements[place], bare=place in own) - 1 : statements[place].end_lineno])
        for place in sorted(found)
    )


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives to something of this module."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def _used(statement: ast.stmt) -> Iterator[str]:
    return (node.id for node in ast.walk(statement) if isinstance(node, ast.Name))


def _first(statement: ast.stmt, *, bare: bool) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return statement.lineno if bare or not decorators else int(decorators[0].lineno)
