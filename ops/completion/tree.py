"""The words of the command line as a tree: read from the parsers themselves."""

import argparse
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sluice.ops.cli.command import Command, Group
from sluice.ops.cli.parsing import Parser

#: What the words that follow are. Whatever else it is there is nothing to complete it by.
FILE, FOLDER, APP, SCHEDULE = "@file", "@folder", "@app", "@schedule"
_FILES = frozenset({"FILE", "SOURCE"})
_FOLDERS = frozenset({"FOLDER", "DIR"})
_TARGETS = frozenset({"app", "of_app", "target"})


class Option(Struct, frozen=True):
    """``takes`` is None for one without a value, else what that is: one of the above, words, or nothing known."""

    flags: tuple[str, ...]
    help: str
    takes: str | None


class Words(Struct, frozen=True):
    """What may follow these words: ``commands`` with their help; ``options``; what each argument is, of which there may
    be more of the last where ``many``."""

    way: str
    commands: tuple[tuple[str, str], ...] = ()
    options: tuple[Option, ...] = ()
    arguments: tuple[str, ...] = ()
    many: bool = False


def read_tree(commands: Sequence[Command | Group]) -> list[Words]:
    """Every way there is, the shortest first. Each command's module is imported for it."""
    return [_of_group("", commands), *(words for entry in commands for words in _below(entry))]


def _below(entry: Command | Group) -> Iterator[Words]:
    if isinstance(entry, Group):
        yield _of_group(entry.word, entry.commands)
        yield from (_of_command(f"{entry.word} {each.word}", each) for each in entry.commands)
    else:
        yield _of_command(entry.word, entry)


def _of_group(way: str, commands: Sequence[Command | Group]) -> Words:
    parser = Parser(way, "")
    return Words(way, tuple((each.word, each.help) for each in commands), tuple(_options(parser)))


def _of_command(way: str, command: Command) -> Words:
    parser = Parser(way, command.help)
    command.load().options(parser)
    arguments = [action for action in parser._actions if not action.option_strings]
    return Words(
        way,
        options=tuple(_options(parser)),
        arguments=tuple(_kind(action, way) for action in arguments),
        many=bool(arguments) and arguments[-1].nargs in ("*", "+"),
    )


def _options(parser: Parser) -> Iterator[Option]:
    for action in parser._actions:
        if action.option_strings:
            takes = None if action.nargs == 0 else _kind(action, "")
            help_ = (action.help or "") % {"default": action.default, "prog": parser.prog}
            yield Option(tuple(action.option_strings), help_, takes)


def _kind(action: argparse.Action, way: str) -> str:
    if action.choices is not None and not isinstance(action.choices, range):
        return " ".join(map(str, action.choices))
    if action.metavar in _FILES:
        return FILE
    if action.metavar in _FOLDERS:
        return FOLDER
    if way.startswith("schedules") and action.metavar == "ID":
        return SCHEDULE
    return APP if action.dest in _TARGETS or action.metavar == "APP" else ""
