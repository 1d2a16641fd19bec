"""Commands in the README must exist, and no file may name a folder or a registry of a developer's machine."""

import ast
import re
import shlex
import subprocess
from pathlib import Path

from tests.style.sources import Offence, Source

#: Section of docs/index.md with a table of questions, each with a link to the heading that answers it.
QUESTIONS = "Answers to common questions"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHELLS = {"", "bash", "console", "sh", "shell"}
_MAKE = re.compile(r"(?:^|`|&& )make ((?:[A-Za-z.][\w.-]*(?: |$|(?=`)))+)")
_TARGET = re.compile(r"^([A-Za-z.][\w.-]*)\s*:", re.MULTILINE)
_MACHINE = re.compile(
    r"(?<![\w.}~])/(?:work|root)/|/opt/wheel[s]|pypi\.org|pythonhosted\.org|registry\.npmjs\.org|://[\w.]*deb\.debian\.org"
)


def missing_targets(readme: str, makefile: str) -> list[str]:
    """Return the targets of ``make`` that the README names and the Makefile does not have."""
    inline = re.findall(r"`[^`\n]+`", readme)
    named = {
        target
        for call in [*inline, *_typed(readme)]
        for found in _MAKE.findall(call)
        for target in found.split()
    }
    return sorted(named - set(_TARGET.findall(makefile)))


def commands(sources: list[Source]) -> set[tuple[str, ...]]:
    """Return the words of each command of ``sluice``, read from ``ops/cli`` without running it."""
    return {
        way
        for source in sources
        if source.path.startswith("ops/cli/")
        for node in source.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for element in node.value.elts
        for way in _ways(element)
    }


def _ways(node: ast.expr) -> list[tuple[str, ...]]:
    match node:
        case ast.Call(ast.Name("Command"), _, keywords):
            return [(_word(keywords),)]
        case ast.Call(ast.Name("CommandGroup"), _, keywords):
            inner = next(each.value for each in keywords if each.arg == "commands")
            members = inner.elts if isinstance(inner, ast.Tuple) else []
            return [(_word(keywords), *way) for member in members for way in _ways(member)]
    return []


def _word(keywords: list[ast.keyword]) -> str:
    return next(
        str(each.value.value)
        for each in keywords
        if each.arg == "word" and isinstance(each.value, ast.Constant)
    )


def missing_commands(readme: str, known: set[tuple[str, ...]]) -> list[str]:
    """Return the lines of the README's code blocks that call ``sluice`` with words that no command has."""
    calls = [line for line in _typed(readme) if re.match(r"(?:\S*/)?sluice\s", line)]
    return [call for call in calls if not _is_known(shlex.split(call, comments=True)[1:], known)]


def _typed(readme: str) -> list[str]:
    """Return the lines of the README's code blocks for a shell."""
    blocks = [block for language, block in _BLOCK.findall(readme) if language in _SHELLS]
    return [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]


def _is_known(words: list[str], known: set[tuple[str, ...]]) -> bool:
    """Return whether these words call a command. It may begin at any word, because options may precede it."""
    return any(tuple(words[i : i + len(way)]) == way for way in known for i in range(len(words))) or all(
        word.startswith("-") for word in words
    )


def files_of(root: Path) -> list[Path] | None:
    """Return the files that git tracks or does not ignore. None without a git checkout, or without git."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        found = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [root / name for name in found.split("\0") if name and (root / name).is_file()]


def names_of_machines(path: str, text: str) -> list[Offence]:
    return [
        Offence(path, number, f"names a machine's folder or a registry: {found[0]}")
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := _MACHINE.search(line))
    ]
