"""Command ``sluice autoscale``: keep as many workers on this machine as there is work for, within bounds."""

import argparse
import logging
import os
import re
import sys
from collections.abc import Iterable

from sluice.actors.settings.settings import hand_on
from sluice.actors.worker.command import size_options
from sluice.actors.worker.startup import log_start
from sluice.broker.messages import CONTROL
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest, BadSetting
from sluice.jobs.runners.function.thread import is_coroutine
from sluice.ops.autoscale.controller import Autoscaler
from sluice.ops.autoscale.decision import ScalingTarget
from sluice.ops.autoscale.workers import Guard, LocalWorkers
from sluice.ops.cli.command import DONE, INTERRUPTED, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.local_worker import told_to_stop
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.submission_options import duration_option
from sluice.ops.operations.installation import Installation

_LOG = logging.getLogger("sluice.autoscale")

#: Maximum number of workers on one machine. A larger number is taken for a typing error.
MOST = 1000
_TARGET = re.compile(r"([^=]*[^=,\s][^=]*)=\s*((\d{1,4})\.\.(\d{1,4}))\s*")


def options(parser: argparse.ArgumentParser) -> None:
    told = "from N to M workers for these queues; may be repeated"
    parser.add_argument("--queue", action="append", default=[], metavar="APP,…=N..M", help=told)
    size_options(parser)
    times = {
        "--cool-down": (120.0, "stop a worker only if it was not needed for this time; default: 2m"),
        "--every": (5.0, "time between checks of the demand; default: 5s"),
    }
    for option, (default, told) in times.items():
        parser.add_argument(option, type=duration_option, default=default, metavar="TIME", help=told)


def run(context: CommandContext, options: Options) -> int:
    targets = read_targets(
        options.queue,
        context.catalogue,
        capacity=options.threads * options.processes,
        coroutine_capacity=options.coroutines * options.processes,
        cool_down_s=options.cool_down,
    )
    installation = Installation(context)
    if context.settings.ledger_url is None or not installation.shares_a_broker:
        raise BadSetting(
            "Workers need a ledger and a broker that they share.",
            advice="Set SLUICE_LEDGER_URL and SLUICE_BROKER_URL, or use `sluice up` for everything in one process.",
        )
    environment = dict(os.environ)  # Secrets are passed in it.
    hand_on(environment, apps=options.apps, ledger_url=options.ledger, broker_url=options.broker)
    command = [sys.executable, "-P", "-m", "sluice.actors.worker"]
    command += ["--threads", str(options.threads), "--processes", str(options.processes)]
    command += ["--async", str(options.coroutines), "--queues"]
    guard = context.keep(Guard())
    crews = [LocalWorkers(target, [*command, target.name], environment, guard) for target in targets]

    context.log_as_service()
    ledger = installation.ledger
    bounds = ", ".join(f"{target.name}={target.least}..{target.most}" for target in targets)
    with told_to_stop() as stop:
        log_start("autoscaler", context.settings, ledger.url, context.definitions.known, f"workers {bounds}")
        try:
            # If the output is closed, logging drops the line, and the workers stay.
            Autoscaler(ledger, crews, _LOG.info, _LOG.warning).keep(stop, options.every)
        except KeyboardInterrupt:
            return INTERRUPTED
    _LOG.info("stopped")
    context.output.answer({"stopped": True}, Paragraph("Stopped."))
    return DONE


def read_targets(
    texts: Iterable[str],
    catalogue: Catalogue,
    *,
    capacity: int,
    coroutine_capacity: int,
    cool_down_s: float,
) -> list[ScalingTarget]:
    """Parse sets of queues with their bounds. BadRequest if one cannot be parsed, if a queue does not exist, or if a
    queue is named twice.
    """
    coroutines = frozenset(name for name, app in catalogue.items() if is_coroutine(app))
    targets = [
        ScalingTarget(
            queues=queues,
            least=least,
            most=most,
            capacity=capacity,
            coroutines=coroutines,
            coroutine_capacity=coroutine_capacity,
            cool_down_s=cool_down_s,
        )
        for queues, least, most in map(_read, texts)
    ]
    queues = [queue for target in targets for queue in target.queues]
    for queue in queues:
        if queue not in CONTROL and queue not in catalogue:
            raise BadRequest(
                f"There is no queue {queue}.",
                advice=f"A queue has the name of its app; Sluice's own queues are {', '.join(CONTROL)}.",
            )
        if queues.count(queue) > 1:
            where = " and ".join(target.name for target in targets if queue in target.queues)
            raise BadRequest(f"{queue} is named twice.", where=where)
    if not targets:
        raise BadRequest("No queue was named.", advice="For example --queue app1=1..4")
    return targets


def _read(text: str) -> tuple[tuple[str, ...], int, int]:
    """Return the queues and the bounds of a target."""
    found = _TARGET.fullmatch(text)
    if found is None:
        raise BadRequest(
            f"{text!r} cannot be read.", advice="Write --queue app1=1..4 or --queue app1,app2=0..2"
        )
    listed, bounds, least, most = found[1].split(","), found[2], int(found[3]), int(found[4])
    if not least <= most or not 1 <= most <= MOST:
        raise BadRequest(
            f"{bounds} is no range of workers.", advice=f"The second number is from 1 to {MOST}."
        )
    queues = tuple(dict.fromkeys(filter(None, map(str.strip, listed))))
    return queues, least, most
