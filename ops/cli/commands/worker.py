"""``sluice worker``: a worker of some or all queues."""

from sluice.actors import worker
from sluice.ops.cli.command import Options
from sluice.ops.cli.desk import CommandDesk

options = worker.add_options


def run(_: CommandDesk, options: Options) -> int:
    return worker.run(options)
