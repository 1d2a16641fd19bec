"""Names without meaning, for example ``utils`` and ``helper``, which hide the concept behind the code."""

import ast
import re

from tests.style.sources import Offence, Source

_NOTHING = {"base", "common", "helper", "helpers", "manager", "misc", "stuff", "util", "utils"}
_WRITES_WITHOUT_A_GUARD = {"set_state", "update_state", "change_state"}
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def names_name_something(sources: list[Source]) -> list[Offence]:
    return [offence for source in sources for offence in [*_of_module(source), *_of_definitions(source)]]


def _of_module(source: Source) -> list[Offence]:
    parts = source.module.split(".")
    return [Offence(source.path, 1, f"a module called {part}") for part in parts if _words(part) & _NOTHING]


def _of_definitions(source: Source) -> list[Offence]:
    offences = []
    for node in source.nodes:
        if isinstance(node, ast.ClassDef) and _words(node.name) & _NOTHING:
            offences.append(Offence(source.path, node.lineno, f"a class called {node.name}"))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name.strip("_")
            if name in _WRITES_WITHOUT_A_GUARD | _NOTHING:
                offences.append(Offence(source.path, node.lineno, f"a function called {node.name}"))
    return offences


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}
