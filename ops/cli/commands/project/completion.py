"""Command ``sluice completion``: print a script with which a shell completes ``sluice``.

The script contains the commands, options and choices of this version. Make it again after an upgrade.
"""

import argparse
from collections.abc import Sequence

import shtab

from sluice.ops.cli.command import DONE, Command, CommandGroup, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.commands import COMMANDS
from sluice.ops.cli.page import Verbatim
from sluice.ops.cli.parser import PROGRAM, Parser

_SHELLS = ("bash", "zsh", "fish")
#: Values that are paths, by their name in the help text.
_PATHS = {"FILE": shtab.FILE, "SOURCE": shtab.FILE, "FOLDER": shtab.DIRECTORY, "DIR": shtab.DIRECTORY}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=_SHELLS, help="shell; put the printed script where the shell reads it"
    )


def run(context: CommandContext, options: Options) -> int:
    text = script(options.shell, COMMANDS)
    context.output.answer({"shell": options.shell, "script": text}, Verbatim(text.rstrip("\n")))
    return DONE


def script(shell: str, commands: Sequence[Command | CommandGroup]) -> str:
    """Return the completion script for a shell. It imports the module of each command."""
    parser = Parser(PROGRAM, "")
    _extend(shell, parser, commands)
    return shtab.complete(parser, shell)


def _extend(shell: str, parser: Parser, commands: Sequence[Command | CommandGroup]) -> None:
    """Add the commands with everything below them, and prepare all options and arguments for the shell."""
    for action in parser._actions:
        _prepare(shell, action)
    if not commands:
        return
    words = parser.add_subparsers(parser_class=argparse.ArgumentParser)
    for entry in commands:
        below = Parser(entry.word, entry.help)
        if isinstance(entry, Command):
            entry.load().options(below)
        _extend(shell, below, entry.commands if isinstance(entry, CommandGroup) else ())
        words.add_parser(entry.word, help=entry.help, parents=[below], add_help=False)


def _prepare(shell: str, action: argparse.Action) -> None:
    """Set the completion of paths, and adapt an action to limits of shtab."""
    complete = _PATHS.get(str(action.metavar))
    # shtab writes the metavar as it is into the script for zsh, where `PORT` in `HOST:PORT` would be a command.
    action.metavar = None
    if not action.option_strings:
        # zsh would show the backslashes that shtab puts into the help of an argument.
        action.help = None
        if action.choices is None:
            # Without an action, zsh shows a message instead of inserting an option at this position.
            complete = complete or {"zsh": "()"}
    elif shell == "zsh" and action.nargs != 0:
        # With a trailing `=`, zsh accepts `--option=value` and `--option value`. Without it, only the latter.
        flags = action.option_strings
        action.option_strings = [f"{flag}=" if flag.startswith("--") else flag for flag in flags]
    if complete is not None:
        action.complete = complete  # type: ignore[attr-defined] # shtab reads this attribute
