"""Command line as a tree of words, read from the parsers themselves."""

import argparse
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sluice.ops.cli.command import Command, CommandGroup
from sluice.ops.cli.parser import Parser

#: Kinds of values that can be completed. Values of other kinds have no completion.
FILE, FOLDER, APP, SCHEDULE = "@file", "@folder", "@app", "@schedule"
_FILES = frozenset({"FILE", "SOURCE"})
_FOLDERS = frozenset({"FOLDER", "DIR"})
_TARGETS = frozenset({"app", "of_app", "target"})


class Option(Struct, frozen=True):
    """Option of a command. ``takes`` is None if it has no value. Otherwise it is a kind from above, a list of words, or
    empty for an unknown kind.
    """

    flags: tuple[str, ...]
    help: str
    takes: str | None


class Words(Struct, frozen=True):
    """Words that may follow the command words ``way``. ``commands`` have their help texts. ``arguments`` has the kind
    of each argument. ``many``: the last argument may be repeated.
    """

    way: str
    commands: tuple[tuple[str, str], ...] = ()
    options: tuple[Option, ...] = ()
    arguments: tuple[str, ...] = ()
    many: bool = False


def read_tree(commands: Sequence[Command | CommandGroup]) -> list[Words]:
    """Return all command words with the words that may follow, the shortest first. It imports the module of each
    command.
    """
    return [_of_group("", commands), *(words for entry in commands for words in _below(entry))]


def _below(entry: Command | CommandGroup) -> Iterator[Words]:
    if isinstance(entry, CommandGroup):
        yield _of_group(entry.word, entry.commands)
        yield from (_of_command(f"{entry.word} {each.word}", each) for each in entry.commands)
    else:
        yield _of_command(entry.word, entry)


def _of_group(way: str, commands: Sequence[Command | CommandGroup]) -> Words:
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
