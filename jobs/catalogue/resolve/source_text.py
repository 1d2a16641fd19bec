"""Text of a module that a function depends on."""

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import Any

from sluice.jobs.catalogue.sources.functions import source_of, text_of


def text_behind(function: Callable[..., Any]) -> str:
    """Return the function's text and the text of all top-level parts of its module that it uses, directly or
    indirectly.

    Its own decorators are left out, because they only define the app. Imports are not followed, and neither are
    references other than by name. A function inside another function or a class includes the whole of that. If the
    module's text is not available, return ``source_of``.
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
    found = _reached(name, statements, bound)
    # Lines as the parser counts them: a form feed, for example, does not end a line.
    lines = StringIO(text, newline=None).read().split("\n")
    return "\n".join(
        "\n".join(lines[_first(statements[place], bare=place in own) - 1 : statements[place].end_lineno])
        for place in sorted(found)
    )


def _reached(name: str, statements: Sequence[ast.stmt], bound: Sequence[frozenset[str]]) -> set[int]:
    """Return the indexes of the statements that define ``name`` or anything that these use, directly or indirectly.

    ``bound`` are the names that each statement defines.
    """
    wanted, found = {name}, set[int]()
    while reached := {place for place, names in enumerate(bound) if names & wanted} - found:
        found |= reached
        wanted |= {used for place in reached for used in _used(statements[place])}
    return found


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines in this module."""
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
