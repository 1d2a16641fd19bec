"""Run of one contender: jobs are published, faults happen, everything heals, and the results are counted."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.broker.proxy import Proxy
from tests.homes import started_ledger
from tests.ordeal.contenders import Contender
from tests.ordeal.effects import EFFECTS, done
from tests.ordeal.faults import Fault, Kind, faults
from tests.ordeal.publishing import ACCEPTED, BROKER, CAREFUL, JOBS, SECONDS
from tests.private_servers import SERVERS, PrivateServer

ROOT = Path(__file__).parents[2]
WORKERS = 3
#: Seconds without a line of any job, after the end of the faults, until undone jobs count as lost.
QUIET_S = 60.0
#: Maximum of seconds to wait for the end of the jobs.
HEALING_S_MAX = 300.0
#: Default port, which is never used: the URL of a private server has a port.
_PORT = 1
_SUCCESSES = f"SELECT job, count(*) FROM transition WHERE target = '{State.SUCCEEDED}' GROUP BY job"


class Course(Struct, frozen=True):
    """Parameters of a run: ``jobs`` within ``seconds`` on this ``broker``, with the faults of this seed."""

    broker: str
    jobs: int
    seconds: float
    seed: int


class Report(Struct, frozen=True, kw_only=True):
    """Results of a contender.

    ``lost`` jobs were accepted and never completed. ``doubled`` jobs were completed twice. ``begun_again`` jobs were
    started more than once. If it has a ledger: ``succeeded`` is the number of jobs that succeeded in it, ``twice`` more
    than once.
    """

    name: str
    accepted: int
    lost: int
    doubled: int
    begun_again: int
    kills: int
    cuts: int
    crashes: int
    healed_s: float
    succeeded: int | None = None
    twice: int | None = None


class Crew:
    """Workers, each in a session of its own, replaced when they die."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self._command, self._environment, self._log = command, environment, log
        self._workers = [self._start() for _ in range(WORKERS)]

    def kill(self, whom: int) -> None:
        place = whom % len(self._workers)
        _end(self._workers[place])
        self._workers[place] = self._start()

    def revive(self) -> None:
        """Restart workers that ended by themselves, as a supervisor would. Workers of dramatiq and Celery may do so."""
        for place, worker in enumerate(self._workers):
            if worker.poll() is not None:
                self._workers[place] = self._start()

    def close(self) -> None:
        for worker in self._workers:
            _end(worker)

    def _start(self) -> subprocess.Popen[bytes]:
        return _started(self._command, self._environment, self._log)


def go_through(contender: Contender, course: Course) -> Report:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(SERVERS[course.broker]())
        proxy = Proxy(server.url, default_port=_PORT)
        stack.callback(proxy.close)
        environment = _environment(contender, course, folder, proxy.url)
        if contender.has_ledger:
            url = stack.enter_context(started_ledger(folder / "home", durable=True))
            environment |= {"SLUICE_LEDGER_URL": url, "SLUICE_BROKER_URL": proxy.url}
            environment |= {"SLUICE_LEASE": "5s"}
        crew = Crew(contender.worker_command, environment, folder / "workers.log")
        stack.callback(crew.close)
        publisher = _started(contender.publisher_command, environment, folder / "publisher.log")
        stack.callback(_end, publisher)
        done_to = _harm(course, crew, proxy, server)
        publisher.wait(HEALING_S_MAX)
        if publisher.returncode:
            raise RuntimeError((folder / "publisher.log").read_text()[-2000:])
        healed_s = _heal(crew, folder, course.jobs)
        return _report(contender, folder, done_to, healed_s, environment.get("SLUICE_LEDGER_URL"))


def _harm(course: Course, crew: Crew, proxy: Proxy, server: PrivateServer) -> list[Fault]:
    planned = faults(course.seed, course.seconds)
    began = time.monotonic()
    for fault in planned:
        while time.monotonic() < began + fault.at_s:
            crew.revive()
            time.sleep(0.05)
        match fault.kind:
            case Kind.KILL:
                crew.kill(fault.whom)
            case Kind.CUT:
                proxy.cut()
            case Kind.CRASH:
                server.restart()
    return planned


def _heal(crew: Crew, folder: Path, jobs: int) -> float:
    """Wait without faults until all jobs are done, or nothing moves. Return the seconds until the last change."""
    began = moved_at = time.monotonic()
    seen = -1
    while True:
        found = done(folder / "effects")
        size = sum(found.started.values()) + sum(found.ended.values())
        now = time.monotonic()
        if size != seen:
            seen, moved_at = size, now
        if len(found.ended) == jobs or now - moved_at > QUIET_S or now - began > HEALING_S_MAX:
            return moved_at - began
        crew.revive()
        time.sleep(0.2)


def _report(
    contender: Contender, folder: Path, done_to: list[Fault], healed_s: float, ledger_url: str | None
) -> Report:
    found = done(folder / "effects")
    accepted = {int(line) for line in (folder / "accepted").read_text().split()}
    succeeded = None if ledger_url is None else _successes(ledger_url)
    return Report(
        name=contender.name,
        accepted=len(accepted),
        lost=len(accepted - found.ended.keys()),
        doubled=sum(times > 1 for times in found.ended.values()),
        begun_again=sum(times > 1 for times in found.started.values()),
        kills=sum(fault.kind is Kind.KILL for fault in done_to),
        cuts=sum(fault.kind is Kind.CUT for fault in done_to),
        crashes=sum(fault.kind is Kind.CRASH for fault in done_to),
        healed_s=healed_s,
        succeeded=None if succeeded is None else len(succeeded),
        twice=None if succeeded is None else sum(times > 1 for times in succeeded.values()),
    )


def _successes(ledger_url: str) -> dict[int, int]:
    with _ledger(ledger_url) as ledger:
        return dict(ledger.transact(lambda tx: tx.rows(_SUCCESSES)))


@contextmanager
def _ledger(url: str) -> Iterator[Ledger]:
    ledger = Ledger(url, connections=1)
    try:
        yield ledger
    finally:
        ledger.close()


def _environment(contender: Contender, course: Course, folder: Path, broker_url: str) -> dict[str, str]:
    return os.environ | {
        BROKER: broker_url,
        EFFECTS: str(folder / "effects"),
        ACCEPTED: str(folder / "accepted"),
        JOBS: str(course.jobs),
        SECONDS: str(course.seconds),
        CAREFUL: "yes" if contender.careful else "no",
    }


def _started(command: list[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as said:
        return subprocess.Popen(
            command, cwd=ROOT, env=dict(environment), stdout=said, stderr=said, start_new_session=True
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
