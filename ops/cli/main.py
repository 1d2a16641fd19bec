"""Entry point of the ``sluice`` command.

An error is three lines: what, where, and what to do. ``command`` has the exit codes.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from sluice.actors.settings.settings import process_settings
from sluice.jobs.errors import SluiceError
from sluice.jobs.observe.failpoints import arm
from sluice.ops.cli.command import BROKEN, DONE, INTERRUPTED, Action, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import Output
from sluice.ops.cli.parser import format_of, parse

#: Seconds between two answers with ``--watch``.
WATCH_S = 2.0


class UnexpectedError(SluiceError):
    """Unexpected error."""

    exit_code = BROKEN


class Interrupted(SluiceError):
    exit_code = INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code of the process."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    with Output(format_of(words)) as output, _ended_by_signals():
        try:
            code = _run(words, output)
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_stdout()
            return DONE
        except (Exception, KeyboardInterrupt) as error:
            if "--debug" in words:
                traceback.print_exception(error)
            told = _told(error)
            output.complain(told)
            return told.exit_code
    return code


def _run(words: Sequence[str], output: Output) -> int:
    action, options = parse(words)
    output.is_brief = options.quiet
    settings = process_settings(
        apps=tuple(options.apps), ledger_url=options.ledger, broker_url=options.broker
    )
    settings = replace(settings, process=options.way)
    arm(settings.failpoint)
    with CommandContext(
        settings, output, verbose=options.verbose, may_make_ledger=options.makes_ledger
    ) as context:
        if getattr(options, "watch", False):
            return _watch(action, context, options)
        return action.run(context, options)


def _watch(action: Action, context: CommandContext, options: Options) -> int:
    """Repeat the answer until Ctrl-C."""
    try:
        while (code := action.run(context, options)) == DONE:
            time.sleep(WATCH_S)
            context.output.clear()
    except KeyboardInterrupt:
        return DONE
    return code


def _told(error: BaseException) -> SluiceError:
    """Return the error in the form that people see."""
    if isinstance(error, SluiceError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("Interrupted.")
    last = traceback.extract_tb(error.__traceback__)[-1]
    return UnexpectedError(
        f"{type(error).__name__}: {' '.join(str(error).split())}",
        where=f"{last.filename}:{last.lineno}, in {last.name}",
        advice="This is a fault of Sluice. Add --debug to see the traceback.",
    )


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and the end of the terminal end a command like Ctrl-C, so that its jobs are handed back and its
    resources closed.
    """
    heard = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]
    for each in heard:
        signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for each in heard:
            signal.signal(each, signal.SIG_DFL)


def _leave_stdout() -> None:
    """Redirect stdout to the null device. The reader has closed the pipe, and Python must not fail at exit because of
    unwritten output.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
