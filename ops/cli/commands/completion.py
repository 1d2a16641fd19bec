"""``sluice completion``: a script that has a shell complete ``sluice``.

It holds what the commands of this very version take, and is to be made again with the next one.
"""

import argparse

from ops.cli.command import Options
from ops.cli.desk import CommandDesk
from ops.cli.exits import DONE
from ops.cli.page import Verbatim
from ops.completion.scripts import SHELLS, script
from ops.completion.tree import read_tree


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=[*SHELLS], help="which; what it prints goes where that reads it")


def run(desk: CommandDesk, options: Options) -> int:
    # The table of commands has this one in it.
    from ops.cli.commands import COMMANDS  # noqa: PLC0415 - it names this module, though it imports none

    text = script(options.shell, read_tree(COMMANDS))
    desk.output.answer({"shell": options.shell, "script": text}, Verbatim(text.rstrip("\n")))
    return DONE
