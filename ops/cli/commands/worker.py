"""Command ``sluice worker``: run a worker for some queues or all."""

from sluice.actors import worker
from sluice.ops.cli.command import Options
from sluice.ops.cli.desk import CommandDesk

options = worker.add_options


def run(_: CommandDesk, options: Options) -> int:
    return worker.run(options)
