"""Command ``sluice worker``: run a worker for some queues or all."""

from sluice.actors.worker import command
from sluice.ops.cli.command import Options
from sluice.ops.cli.command_context import CommandDesk

options = command.add_options


def run(_: CommandDesk, options: Options) -> int:
    return command.run(options)
