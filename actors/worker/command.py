"""``sluice worker --queues app1,app2``: run a worker; to scale, start more of them. `--queues '*'` serves all apps, and
none of Sluice's own queues. ``python -m actors.worker`` does the same.

Several processes run under dramatiq's own supervisor. SIGTERM ends them in order within the grace time.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from sluice.actors.assembly import open_ledger, own_broker
from sluice.actors.executor.coroutine_loop import COROUTINES_MAX
from sluice.actors.settings import tls
from sluice.actors.settings.settings import Settings, hand_on, process_settings
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.logs import is_json_log, log_last_words, logged_crashes, set_up_logs, whole_lines
from sluice.actors.worker.process import Process
from sluice.actors.worker.startup import end_on_signals, wait_for_servers
from sluice.broker.consumer.supervisor import supervise
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest, BadSetting, SluiceError
from sluice.jobs.model.queues import CONTROL, expand
from sluice.jobs.observe.failpoints import arm
from sluice.jobs.runners.run_output import captured_runs
from sluice.ledger.database.connection_pool import ConnectionLimits

#: Options of the parent's command line, passed on to the child processes that dramatiq starts.
_QUEUES = "SLUICE_WORKER_QUEUES"
_THREADS = "SLUICE_WORKER_THREADS"
_COROUTINES = "SLUICE_WORKER_COROUTINES"
#: Most connections in addition to one per thread: three for the planner, one each for the heartbeat, the check for lost
#: claims, the ticker, attempts at planning, and the output of running jobs, two to claim jobs for coroutines and one to
#: record them.
SPARE_CONNECTIONS = 11
#: Usual number of connections: two, and one for each four threads. A thread has one for a part of its time only, and
#: waits a moment for one if all are in use (``ledger.database.connection_pool``).
CONNECTIONS_MIN, THREADS_A_CONNECTION = 2, 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a worker by a command of its own, without ``sluice``."""
    parser = argparse.ArgumentParser(prog="python -m actors.worker", description=__doc__)
    add_options(parser)
    parser.add_argument("--apps", action="append", default=[], metavar="SOURCE")
    parser.add_argument("--ledger", metavar="URL")
    parser.add_argument("--broker", metavar="URL")
    return run(parser.parse_args(arguments))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--queues", default="", help="comma-separated; '*': all apps, new ones too; default: every queue"
    )
    size_options(parser)


def size_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that determine how many jobs a worker runs at once."""
    parser.add_argument(
        "--processes", type=_positive, default=1, help="processes of a worker; default: %(default)s"
    )
    parser.add_argument(
        "--threads", type=_positive, default=4, help="jobs at once, in each process; default: %(default)s"
    )
    parser.add_argument(
        "--async",
        dest="coroutines",
        type=_positive,
        default=COROUTINES_MAX,
        metavar="N",
        help="jobs of `async def` functions at once, in each process; default: %(default)s",
    )


def run(options: argparse.Namespace) -> int:
    """Start the processes, wait for their end, and return the exit code."""
    end_on_signals()
    try:
        settings = process_settings(
            apps=tuple(options.apps), ledger_url=options.ledger, broker_url=options.broker
        )
        set_up_logs(settings.log, verbose=True)
        tls.warn(settings)
        wait_for_servers(settings, _checked(settings, _queues(options.queues))[0])
    except SluiceError as error:
        _complain(error)
        return error.exit_code
    os.environ.update(
        {_QUEUES: options.queues, _THREADS: str(options.threads), _COROUTINES: str(options.coroutines)}
    )
    hand_on(os.environ, apps=options.apps, ledger_url=options.ledger, broker_url=options.broker)
    return supervise(
        "sluice.actors.worker.command:boot", processes=options.processes, grace_s=settings.grace_s
    )


def boot() -> None:
    """Set up a process before dramatiq's worker starts in it. It keeps its ledger and its broker until it ends."""
    try:
        _boot()
    except SluiceError as error:
        _complain(error)
        sys.exit(error.exit_code)


def _boot() -> None:
    queues = os.environ[_QUEUES]
    settings = replace(process_settings(), process=f"sluice worker {queues}".rstrip())
    arm(settings.failpoint)
    set_up_logs(settings.log, verbose=True)
    threads = int(os.environ[_THREADS])
    kept = ExitStack()
    if settings.log == "json":
        kept.enter_context(logged_crashes())
    kept.enter_context(whole_lines())
    kept.enter_context(captured_runs(passes_on=False))
    limits = ConnectionLimits(
        usual=CONNECTIONS_MIN + threads // THREADS_A_CONNECTION, most=threads + SPARE_CONNECTIONS
    )
    ledger = kept.enter_context(open_ledger(settings, connections=limits, steady=True))
    Process(
        settings,
        Definitions(settings),
        ledger,
        kept.enter_context(own_broker(settings, ledger)),
        queues=_queues(queues),
        threads=threads,
        kept=kept,
    ).enlist(coroutines=int(os.environ[_COROUTINES]))


def _complain(error: SluiceError) -> None:
    if is_json_log():
        log_last_words("worker", error)
        return
    for line in filter(None, (f"worker: {error.what}", error.where, error.advice)):
        sys.stderr.write(f"{line}\n")


def _checked(settings: Settings, queues: list[str]) -> list[str]:
    """Return the queues that will be served. An error is reported here, once and not by each process."""
    served = _known(queues, Definitions(settings).current)
    if settings.broker_url.startswith("memory:"):
        raise BadSetting(
            "A worker needs a broker that it shares with other processes.",
            advice="Set SLUICE_BROKER_URL=amqp://user:password@host, or use `sluice up` for everything in one process.",
        )
    return served


def _known(queues: list[str], catalogue: Catalogue) -> list[str]:
    served = expand(queues, catalogue.queues)
    unknown = [queue for queue in served if queue not in CONTROL and queue not in catalogue]
    if unknown:
        raise BadRequest(
            f"There is no queue {', '.join(unknown)}.",
            advice=f"A queue is named like its app; the other queues are {', '.join(CONTROL)}. '*' is all apps.",
        )
    if not served:
        raise BadRequest("There is no app with a queue to serve.", advice="Define one in SLUICE_APPS.")
    return served


def _queues(text: str) -> list[str]:
    return [queue for part in text.split(",") if (queue := part.strip())]


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)
