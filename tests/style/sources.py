"""Source files as the rules read them: path, text, syntax tree and imports."""

import ast
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("jobs", "planner", "ledger", "broker", "scheduler", "actors", "ops")
#: The package that all rooms are imported from. Its folder has a link to each room, and the public names.
PACKAGE = "sluice"


class Offence(NamedTuple):
    """One place that breaks a rule."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


class Import(NamedTuple):
    """One imported name. ``module`` is absolute; ``name`` is None if the module itself is imported."""

    line: int
    module: str
    name: str | None

    @property
    def room(self) -> str:
        """The room of the module, or the package or library outside the rooms."""
        first, _, rest = self.module.partition(".")
        second = rest.partition(".")[0] or self.name
        return second if first == PACKAGE and second in ROOMS else first


class Source:
    """One Python file. ``path`` is relative to the root and uses slashes."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def keep_imports_alone(self) -> None:
        """Drop the tree and its nodes, but keep the imports. The trees of all files together take 200 MB."""
        _ = self.imports
        self.__dict__.pop("nodes", None)
        self.__dict__.pop("tree", None)

    @property
    def room(self) -> str:
        return self.path.partition("/")[0]

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @property
    def module(self) -> str:
        module = self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return f"{PACKAGE}.{module}" if self.room in ROOMS else module

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All imports: at the top, inside functions, and for the type checker alone."""
        found = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [Import(node.lineno, alias.name, None) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(node)
                found += [Import(node.lineno, module, alias.name) for alias in node.names]
        return tuple(found)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.module.split(".")
        package = parts if self.is_package else parts[:-1]
        above = package[: len(package) - node.level + 1]
        return ".".join([*above, node.module] if node.module else above)


def read_sources() -> list[Source]:
    """Return the code of the rooms, of the package and of the tests."""
    paths = sorted(path for folder in (*ROOMS, PACKAGE, "tests") for path in (ROOT / folder).rglob("*.py"))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text()) for path in paths]


def in_rooms(sources: list[Source]) -> list[Source]:
    return [source for source in sources if source.room in ROOMS]
