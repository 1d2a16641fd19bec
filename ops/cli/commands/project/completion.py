"""Command ``sluice completion``: print a script with which a shell completes ``sluice``.

The script contains the commands and options of this version. Make it again after an upgrade.
"""

import argparse

from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Verbatim
from sluice.ops.completion.scripts import SHELLS, script
from sluice.ops.completion.tree import read_tree


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=[*SHELLS], help="shell; put the printed script where the shell reads it"
    )


def run(context: CommandContext, options: Options) -> int:
    # The table of commands contains this command.
    from sluice.ops.cli.commands import COMMANDS  # noqa: PLC0415 - it names this module, though it imports none

    text = script(options.shell, read_tree(COMMANDS))
    context.output.answer({"shell": options.shell, "script": text}, Verbatim(text.rstrip("\n")))
    return DONE
