"""``docs/compare.md``: the table of sizes in its section "The same eight tasks".

The page is written by hand, except for this table between ``<!-- counts -->`` and ``<!-- end -->``. The programs are in
``docs/compare``, in a folder for each tool.
"""

import ast
import re
import tokenize
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parents[3] / "docs"
PROGRAMS = DOCS / "compare"
#: Folder and name of each tool, in the order of the table.
TOOLS: Mapping[str, str] = {
    "sluice": "Sluice",
    "prefect": "Prefect",
    "dagster": "Dagster",
    "temporal": "Temporal",
    "celery": "Celery",
    "dbos": "DBOS",
}
#: Module and title of each task.
TASKS: Mapping[str, str] = {
    "define": "1 Typed parameters",
    "depend": "2 Dependency",
    "fan_out": "3 Fan-out and join",
    "retries": "4 Retries",
    "nightly": "5 Schedule",
    "call": "6 Call from a service",
    "test_report": "7 Test",
    "cancel": "8 Cancellation",
}
#: Module with the code that a project needs once. Sluice has none.
APPLICATION = "application"
_PART = re.compile(r"(<!-- counts -->\n).*?(<!-- end -->)", re.DOTALL)
_WORDS = (tokenize.NAME, tokenize.NUMBER, tokenize.STRING)


class ProgramSize(NamedTuple):
    """Lines and words of a program, without its imports and comments. Words are names, keywords and literals."""

    lines: int
    words: int

    def __str__(self) -> str:
        return f"{self.lines} / {self.words}"


def page() -> str:
    """Return the page with its table generated from the programs."""
    return _PART.sub(lambda part: f"{part[1]}\n{_counts()}\n{part[2]}", (DOCS / "compare.md").read_text())


def size(text: str) -> ProgramSize:
    """Count the lines and the words of a program."""
    imported = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = [
        token
        for token in tokenize.generate_tokens(StringIO(text).readline)
        if token.type in (*_WORDS, tokenize.OP) and token.start[0] not in imported
    ]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return ProgramSize(len(lines), sum(token.type in _WORDS for token in tokens))


def _counts() -> str:
    """Return the table of the sizes."""
    rows = [*TASKS.items(), (APPLICATION, "Set-up, once per project")]
    sizes = {module: {tool: _size_of(tool, module) for tool in TOOLS} for module, _ in rows}
    total = {
        tool: ProgramSize(*map(sum, zip(*(sizes[module][tool] for module, _ in rows), strict=True)))
        for tool in TOOLS
    }
    table = [
        f"| lines / words | {' | '.join(TOOLS.values())} |",
        f"|---|{'---|' * len(TOOLS)}",
        *(_row(title, module, sizes[module]) for module, title in rows),
        f"| Sum | {' | '.join(str(total[tool]) for tool in TOOLS)} |",
    ]
    return "\n".join([*table, ""])


def _row(title: str, module: str, sizes: Mapping[str, ProgramSize]) -> str:
    cells = (
        f"[{sizes[tool]}](compare/{tool}/{module}.py)" if sizes[tool].lines else str(sizes[tool])
        for tool in TOOLS
    )
    return f"| {title} | {' | '.join(cells)} |"


def _size_of(tool: str, module: str) -> ProgramSize:
    """Return the size of a program. Zero if the tool needs none."""
    path = PROGRAMS / tool / f"{module}.py"
    return size(path.read_text()) if path.exists() else ProgramSize(0, 0)
