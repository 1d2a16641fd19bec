"""The ``sluice`` command.

Exit codes: 0 done, 1 the work failed, 2 a bad definition, key or option, 3 ledger or broker out of reach,
130 interrupted. Errors are three lines: what, where, what to do.
"""

import argparse
import sys
import traceback
from collections.abc import Sequence

from actors.logs import set_up_logs
from actors.settings import process_settings
from jobs.errors import SluiceError
from ops.cli.commands import COMMANDS
from ops.cli.desk import Desk
from ops.cli.output import Output

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the process's exit code."""
    options = parser().parse_args(arguments)
    output = Output(as_json=options.json)
    try:
        settings = process_settings(
            apps=tuple(options.apps), ledger_url=options.ledger, broker_url=options.broker
        )
        set_up_logs(settings.log, verbose=options.verbose)
        with Desk(settings, output) as desk:
            return int(options.run(desk, options))
    except SluiceError as error:
        _complain(error, output, with_trace=options.debug)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; there is nobody left to tell.
        sys.stderr.close()
        return 0


def parser() -> argparse.ArgumentParser:
    """The whole command line. The common options are understood before and after the command."""
    common = _common(argparse.SUPPRESS)
    whole = argparse.ArgumentParser(
        prog="sluice", parents=[_common(None)], description="A distributed job orchestrator."
    )
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands, common)
    return whole


def _common(default: str | None) -> argparse.ArgumentParser:
    """SUPPRESS keeps a command's own copy of an option from overwriting what stood before the command."""

    def absent(otherwise: object) -> object:
        return otherwise if default is None else default

    options = argparse.ArgumentParser(add_help=False)
    group = options.add_argument_group("common options")
    group.add_argument(
        "--apps", action="append", metavar="SOURCE", default=absent([]), help="definitions; may be repeated"
    )
    group.add_argument("--ledger", metavar="URL", default=absent(None), help="postgresql://…; default: embedded")
    group.add_argument("--broker", metavar="URL", default=absent(None), help="amqp://…, redis://…, memory://")
    group.add_argument("--json", action="store_true", default=absent(False), help="one JSON document on stdout")
    group.add_argument("--verbose", action="store_true", default=absent(False), help="say more on stderr")
    group.add_argument("--debug", action="store_true", default=absent(False), help="tracebacks with errors")
    return options


def _complain(error: SluiceError, output: Output, *, with_trace: bool) -> None:
    if with_trace:
        traceback.print_exception(error)
    if output.as_json:
        output.document({"error": {"what": error.what, "where": error.where, "advice": error.advice}})
    for line in (f"sluice: {error.what}", error.where and f"  where: {error.where}", error.advice and f"  {error.advice}"):
        if line:
            print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
