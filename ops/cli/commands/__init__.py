"""Every command, in the order of the help text."""

from ops.cli.command import Command, Group
from ops.cli.commands import acting, looking, relating, upkeep, working

COMMANDS: tuple[Command | Group, ...] = (
    *working.COMMANDS,
    *relating.COMMANDS,
    *looking.COMMANDS,
    *acting.COMMANDS,
    *upkeep.COMMANDS,
)
