"""Command ``sluice worker``: run a worker for some queues or all."""

from sluice.actors.worker import command
from sluice.ops.cli.command import Options
from sluice.ops.cli.command_context import CommandContext

options = command.add_options


def run(_: CommandContext, options: Options) -> int:
    return command.run(options)
