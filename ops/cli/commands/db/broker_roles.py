"""Command ``sluice broker roles``: print lines that give the broker user of each part only the rights that it needs."""

import argparse
import re

from sluice.broker import roles
from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Verbatim

_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMESPACE = re.compile(r"[A-Za-z0-9._:-]{0,100}")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "server", choices=("rabbitmq", "redis"), help="print commands for rabbitmqctl, or for redis-cli"
    )
    parser.add_argument("--prefix", default="sluice", help="prefix of the users' names; default: %(default)s")
    parser.add_argument("--vhost", default="/", help="virtual host of RabbitMQ; default: %(default)s")


def run(context: CommandContext, options: Options) -> int:
    namespace = context.settings.broker_namespace
    if not _PREFIX.fullmatch(options.prefix):
        raise BadRequest(
            f"--prefix: {options.prefix!r} is not made of letters, digits, _ and -.",
            advice="For example --prefix sluice",
        )
    if not _NAMESPACE.fullmatch(namespace):
        raise BadRequest(
            f"SLUICE_BROKER_NAMESPACE is {namespace!r}, which a rule of a broker would read as a pattern."
        )
    if options.server == "redis":
        lines, users = roles.redis(options.prefix, namespace), [*roles.REDIS]
    else:
        lines, users = roles.rabbitmq(options.prefix, options.vhost, namespace), [*roles.RABBITMQ]
    document = {"users": [f"{options.prefix}_{role}" for role in users], "lines": lines}
    context.output.answer(document, Verbatim(lines.rstrip("\n")))
    return DONE
