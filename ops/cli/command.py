"""The table's entries: a command's words and help, and the module that does it.

A command's module is imported when the command is called, for what it needs (a database driver, a broker,
a display) may take longer to import than another command takes to run.
"""

import argparse
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from sluice.ops.cli.desk import CommandDesk

Options = argparse.Namespace


class Action(Protocol):
    """What each module of ``ops.cli.commands`` has."""

    def options(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own options."""
        ...

    def run(self, desk: CommandDesk, options: Options) -> int:
        """Do it; the exit code."""
        ...


class Command(NamedTuple):
    """With ``makes_ledger`` an embedded ledger is made where there is none; other commands look, or change what is
    there."""

    word: str
    help: str
    module: str
    makes_ledger: bool = False

    def load(self) -> Action:
        return cast(Action, import_module(self.module))


class Group(NamedTuple):
    """Commands that share a first word: ``db upgrade``, ``db check``."""

    word: str
    help: str
    commands: tuple[Command, ...]
