"""One command: its name, its options, and the function that does it."""

import argparse
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ops.cli.desk import Desk

Options = argparse.Namespace


class Command(Struct, frozen=True, kw_only=True):
    """``options`` adds the command's own to its parser."""

    word: str
    help: str
    run: Callable[[Desk, Options], int]
    options: Callable[[argparse.ArgumentParser], object] = lambda _: None

    def add_to(self, parsers: Any, common: argparse.ArgumentParser) -> None:  # argparse's own type is private
        made = parsers.add_parser(self.word, parents=[common], help=self.help, description=self.help)
        self.options(made)
        made.set_defaults(run=self.run)


class Group(Struct, frozen=True, kw_only=True):
    """Commands that share a first word: ``db upgrade``, ``db check``."""

    word: str
    help: str
    commands: tuple[Command, ...]

    def add_to(self, parsers: Any, common: argparse.ArgumentParser) -> None:  # argparse's own type is private
        group = parsers.add_parser(self.word, help=self.help, description=self.help)
        inner = group.add_subparsers(metavar="COMMAND", required=True)
        for command in self.commands:
            command.add_to(inner, common)
