"""Processes that die at a given failpoint: workers of some queues, ``sluice up``, and a program that submits.

Each is started as by its own command, but is forked from a process that has loaded the code already. Loading would take
longer than the way to the failpoint. A process without a failpoint lives until it is killed.
"""

import faulthandler
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker, util
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from time import monotonic

from sluice.actors.connect import connect
from sluice.actors.planner import plan_attempts
from sluice.actors.worker import command
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.observe.failpoints import Point
from sluice.ops.cli.main import main as sluice

#: Log line and exit code of dramatiq's supervisor when its child was killed.
_SAID = "exited unexpectedly (code -9)"
_KILLED = 1
#: Seconds after which a process that has not reached its failpoint never will.
WITHIN_S = 180.0
MORE_EVERY_S = 0.7
#: Signal at which a process logs the stacks of its threads.
SHOW = signal.SIGUSR1
_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(
    [
        "tests.crashes.victims",
        "sluice.broker.rabbitmq.broker",
        "sluice.broker.redis.broker",
        "sluice.ops.console.background",
    ]
)

Main = Callable[[Sequence[str]], int]


class Victims:
    """Processes of one world, with the same ``environment``. They log to one file."""

    def __init__(self, log: Path, environment: Mapping[str, str]) -> None:
        self._log = log
        self._environment = dict(environment)

    @contextmanager
    def living(self, main: Main, *arguments: str, **settings: str) -> Iterator[ForkServerProcess]:
        """Yield a process, which is killed at the end of the block if it is still alive."""
        environment = self._environment | settings
        process = _FORKED.Process(target=_live, args=(main, arguments, environment, str(self._log)))
        process.start()
        try:
            yield process
        finally:
            _send(process, signal.SIGKILL)
            process.join()

    def dies(
        self,
        main: Main,
        *arguments: str,
        at: Point,
        time: int,
        meanwhile: Callable[[], object],
        **settings: str,
    ) -> bool:
        """Run a process with a failpoint, and give it work.

        Return whether it was killed there, and not by anything else.
        """
        settings = {**settings, "SLUICE_FAILPOINT": f"{at.word}@{time}"}
        deadline = monotonic() + WITHIN_S
        said = self._all().count(_SAID)
        with self.living(main, *arguments, **settings) as process:
            while process.is_alive() and monotonic() < deadline:
                meanwhile()
                process.join(MORE_EVERY_S)
            if process.is_alive():
                _send(process, SHOW)
                process.join(MORE_EVERY_S)
        if main is work:
            return process.exitcode == _KILLED and self._all().count(_SAID) == said + 1
        return process.exitcode == -signal.SIGKILL

    def log(self) -> str:
        return self._all()[-20_000:]

    def _all(self) -> str:
        return self._log.read_text() if self._log.exists() else ""


def work(arguments: Sequence[str]) -> int:
    """Run ``python -m actors.worker``."""
    return command.main(arguments)


def up(arguments: Sequence[str]) -> int:
    """Run ``sluice up``, which includes the console."""
    return sluice(["up", *arguments])


def order(arguments: Sequence[str]) -> int:
    """Submit jobs under fixed ids, then cancel jobs of ``idler``."""
    app, *keys = arguments
    with connect() as client:
        for key in keys:
            client.submit(Submission(app=app, key=key, id=f"order {app} {key}"))
        for key in keys:
            client.cancel_job(JobName("idler", key))
    return 0


def end_fork_server() -> None:
    """End the processes and remove the folder that multiprocessing keeps until this process exits.

    A run is checked for remains before that. The standard library has no public function for it.
    """
    forkserver._forkserver._stop()  # type: ignore[attr-defined]  # It is not public.
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]  # It is not public.
    util._run_finalizers()  # type: ignore[attr-defined]  # It is not public.


def _send(process: ForkServerProcess, what: signal.Signals) -> None:
    """Send a signal to a process and all processes that it started. Before it has its own group there are none."""
    if not process.is_alive() or process.pid is None:
        return
    try:
        os.killpg(process.pid, what)
    except ProcessLookupError:
        os.kill(process.pid, signal.SIGKILL)


def _live(main: Main, arguments: Sequence[str], environment: Mapping[str, str], log: str) -> None:
    os.setsid()
    os.environ.update(environment)
    opened = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(opened, 1)
    os.dup2(opened, 2)
    # Forked children inherit the handler, and write to the same file.
    faulthandler.register(SHOW, all_threads=True)
    # A submission may be unlucky, and be planned by several of the processes that are killed here.
    plan_attempts.LOST_MAX = sys.maxsize
    sys.exit(main(arguments))
