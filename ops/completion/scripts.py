"""Completion script for each shell: tables made from the tree, and a few lines that look words up in them.

bash and zsh share the tables. The tables are functions that set REPLY, so a look-up starts no process. The script is
for the Python that made it and for the commands of this version. It must be made again for another version.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from sluice.ops.completion import names
from sluice.ops.completion.tree import APP, SCHEDULE, Option, Words

_TABLES = ("commands", "options", "arguments", "takes")
_PLACE = Path(__file__).parent
_KINDS = {"@apps@": APP, "@schedules@": SCHEDULE}


def script(shell: str, tree: Sequence[Words]) -> str:
    return SHELLS[shell](tree)


def _posix(tree: Sequence[Words], shell: str) -> str:
    rows: dict[str, dict[str, str]] = {table: {} for table in _TABLES}
    for words in tree:
        rows["commands"][words.way] = " ".join(word for word, _ in words.commands)
        rows["options"][words.way] = " ".join(flag for each in words.options for flag in each.flags)
        rows["arguments"][words.way] = _arguments(words)
    for option, ways in _valued(tree):
        rows["takes"] |= {f"{way} {flag}": option.takes or "-" for way in ways for flag in option.flags}
    tables = "\n".join(_function(f"_sluice_{table}", rows[table]) for table in _TABLES)
    return _filled((_PLACE / f"driver.{shell}").read_text(), tables)


def _zsh(tree: Sequence[Words]) -> str:
    described = {
        words.way: " ".join(quote(f"{word}:{help_}") for word, help_ in words.commands)
        for words in tree
        if words.commands
    }
    cases = "\n".join(f"    {quote(way)}) described=({told}) ;;" for way, told in described.items())
    return _posix(tree, "zsh").replace("@described@", cases)


def _arguments(words: Words) -> str:
    """Return the kind of each argument by position. The words of a kind are separated by commas. A final ``…`` means
    that the last argument may be repeated.
    """
    told = [each.replace(" ", ",") or "-" for each in words.arguments]
    return " ".join([*told, *(["…"] if words.many else [])])


def _valued(tree: Sequence[Words]) -> Iterator[tuple[Option, list[str]]]:
    for words in tree:
        yield from ((option, [words.way]) for option in words.options if option.takes is not None)


def _function(name: str, rows: Mapping[str, str]) -> str:
    """Return a shell function that maps keys to texts. Keys with the same text share a case."""
    ways: dict[str, list[str]] = {}
    for key, text in rows.items():
        if text:
            ways.setdefault(text, []).append(key)
    cases = [f"    {'|'.join(map(quote, keys))}) REPLY={quote(text)} ;;" for text, keys in ways.items()]
    return "\n".join([f"{name}() {{", "  REPLY=", '  case "$1" in', *cases, "  esac", "}"])


def _fish(tree: Sequence[Words]) -> str:
    options, commands, takes = [], [], []
    for words in tree:
        told = [f"{flag}\t{each.help}" for each in words.options for flag in each.flags]
        options.append((words.way, told))
        commands.append((words.way, [f"{word}\t{help_}" for word, help_ in words.commands]))
    arguments = [(words.way, _arguments(words).split()) for words in tree]
    for option, ways in _valued(tree):
        takes += [(f"{way} {flag}", [option.takes or "-"]) for way in ways for flag in option.flags]
    tables = "\n".join(
        _fish_function(f"__sluice_{name}", rows)
        for name, rows in zip(_TABLES, (commands, options, arguments, takes), strict=True)
    )
    return _filled((_PLACE / "driver.fish").read_text(), tables)


def _fish_function(name: str, rows: Iterable[tuple[str, list[str]]]) -> str:
    ways: dict[tuple[str, ...], list[str]] = {}
    for key, told in rows:
        if told:
            ways.setdefault(tuple(told), []).append(key)
    cases = [
        f"    case {' '.join(map(_fish_quote, keys))}\n      printf '%s\\n' {' '.join(map(_fish_quote, told))}"
        for told, keys in ways.items()
    ]
    return "\n".join([f"function {name}", "  switch $argv[1]", *cases, "  end", "end"])


def _fish_quote(text: str) -> str:
    r"""Quote a text for fish. Within single quotes, only ``\`` and ``'`` need a ``\`` before them."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _filled(driver: str, tables: str) -> str:
    lookup = f"{quote(sys.executable)} -I -S {quote(str(Path(names.__file__).absolute()))}"
    return driver.replace("@tables@", tables).replace("@names@", lookup)


SHELLS: Mapping[str, Callable[[Sequence[Words]], str]] = {
    "bash": lambda tree: _posix(tree, "bash"),
    "zsh": _zsh,
    "fish": _fish,
}
