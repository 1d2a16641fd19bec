"""Entries of the table of commands, and exit codes.

An entry has a command's name and help, and the module that implements it. The module is imported when the command is
called. Its imports (a database driver, a broker, a display) may take longer than another command takes to run.

Errors have their own exit codes: 2 for invalid definitions, keys and options, and 3 for a ledger or a broker out of
reach (``jobs.errors``).
"""

import argparse
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from sluice.ops.cli.command_context import CommandContext

Options = argparse.Namespace


class Action(Protocol):
    """Interface of each module in ``ops.cli.commands``."""

    def options(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own options."""
        ...

    def run(self, context: CommandContext, options: Options) -> int:
        """Run the command and return its exit code."""
        ...


class Command(NamedTuple):
    """Command of the table. With ``makes_ledger``, an embedded ledger is created if none exists. Other commands only
    read, or change existing data.
    """

    word: str
    help: str
    module: str
    makes_ledger: bool = False

    def load(self) -> Action:
        return cast(Action, import_module(self.module))


class CommandGroup(NamedTuple):
    """Commands with the same first word, like ``db upgrade`` and ``db check``."""

    word: str
    help: str
    commands: tuple[Command, ...]


DONE = 0
#: The work did not succeed.
FAILED = 1
#: The planner refused the submission.
REFUSED = 2
#: Same value as the exit code of the errors for this case.
OUT_OF_REACH = 3
#: A defect of Sluice itself.
BROKEN = 70
#: A wait reached its ``--wait-timeout``. Same value as that of the command ``timeout``.
WAITED_LONG_ENOUGH = 124
INTERRUPTED = 130
