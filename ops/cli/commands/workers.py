"""``sluice workers``: who is there, and what they hold."""

import argparse

from ledger.reads import fleet
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.page import Table
from ops.times import moment


def options(_: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def run(desk: Desk, _: Options) -> int:
    found = Installation(desk).ask(fleet.workers)
    desk.output.answer(
        found,
        Table(
            ("worker", "alive", "running", "threads", "there since (UTC)", "lease until (UTC)", "queues"),
            [
                (
                    f"{each.host}:{each.pid}",
                    "yes" if each.alive else "lost",
                    each.running,
                    each.threads or "none",
                    moment(each.started_at),
                    moment(each.lease_until),
                    ", ".join(each.queues) or "all",
                )
                for each in found
            ],
            prose=True,
            empty="No worker is there. Start one: sluice up, or python -m actors.worker",
        ),
    )
    return DONE
