"""Upper bounds for the length of files and functions.

A file holds one subject, which may take 600 lines; splitting it further would only add hops between files.
"""

import ast

from tests.style.sources import Offence, Source

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 45


def files_are_short(sources: list[Source]) -> list[Offence]:
    return [
        Offence(source.path, 1, f"{_lines(source)} lines, over {FILE_LINES_MAX}")
        for source in sources
        if _lines(source) > FILE_LINES_MAX and "/migrations/" not in source.path
    ]


def functions_are_short(sources: list[Source]) -> list[Offence]:
    return [
        Offence(
            source.path, function.lineno, f"{function.name} has {length} lines, over {FUNCTION_LINES_MAX}"
        )
        for source, function, length in _functions(sources)
        if length > FUNCTION_LINES_MAX and "/migrations/" not in source.path
    ]


def _lines(source: Source) -> int:
    return source.text.count("\n")


def _functions(sources: list[Source]) -> list[tuple[Source, ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    return [
        (source, node, (node.end_lineno or node.lineno) - node.lineno + 1)
        for source in sources
        for node in source.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
