"""Trial of an installation as its operator sees it: faults one after another, and what each process logs of them.

A control worker, two workers for four apps (``src -> left, right -> sink``) and a console with an open page log JSON,
each to its own file. Their ledger and their broker are behind proxies. Before each fault some keys are submitted, so
that each fault meets running jobs.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
from msgspec import Struct

from sluice.actors.client import Client
from sluice.actors.executor.claims_in_flight import GATHER_S
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.broker.proxy import Proxy
from tests.live.fleet import ROOT, Fleet, fleet, wait_until

APPS = ("src", "left", "right", "sink")
MODULE = Path(__file__).parent / "operated.py"
TOKEN = "operator-trial-token-0001"
LEDGER, BROKER = "ledger", "broker"
#: Number of faults before each of which a part of the keys is submitted.
STAGES = 7
#: Maximum number of lines of one process about one fault.
LINES_MAX = 5

#: Things that no line may contain: ids of rows and messages, and words of the inside.
_INSIDE = re.compile(
    r"\bjobs? \d+\b(?! (was|were|are))|\b[0-9a-f]{8}-[0-9a-f]{4}-|claim \d|\bhints?\b|\bparcel|\bgroomer(?!,| *;)"
)
_LOST = re.compile(
    r"the worker (?P<pid>\d+) on \S+ is lost, its lease ended: (?P<jobs>\d+) jobs? (was|were) taken back:"
    r" (?P<names>\S+/\S+(, \S+/\S+)*)(?P<more> and \d+ more)?"
)
_TAKEN_BACK = """
SELECT DISTINCT job.app || '/' || job.key FROM transition JOIN job ON job.id = transition.job
WHERE transition.verb = 'requeue' AND transition.at > %(since)s
"""
#: Seconds for which a long job counts as just begun, so that it still runs when a fault takes effect.
_JUST_S = 2.0
_SUCCESSES = "SELECT job, count(*) FROM transition WHERE verb = 'succeed' GROUP BY job"


class TrialSize(Struct, frozen=True, kw_only=True):
    """Size of a trial. Of ``left`` one job in ``left_every`` takes ``left_s``, and the same for ``sink``."""

    keys: int
    left_s: float
    left_every: int
    sink_s: float
    sink_every: int
    lease_s: float
    outage_s: float
    hang_s: float

    @property
    def jobs(self) -> int:
        return self.keys * len(APPS)


#: 168 jobs.
SMALL = TrialSize(
    keys=42, left_s=4.0, left_every=3, sink_s=4.0, sink_every=1000, lease_s=3.0, outage_s=2.5, hang_s=4.0
)
#: 3,000 jobs, as long as those of a small installation.
FULL = TrialSize(
    keys=750, left_s=6.0, left_every=10, sink_s=20.0, sink_every=25, lease_s=6.0, outage_s=20.0, hang_s=25.0
)


class ProcessLog:
    """Log of one kind of process. ``read`` returns its text."""

    def __init__(self, name: str, read: Callable[[], str]) -> None:
        self.name = name
        self._read = read

    def lines(self) -> list[dict[str, Any]]:
        """Return the whole lines so far. Each must be JSON."""
        return [json.loads(line) for line in self._read().split("\n")[:-1]]

    def since(self, mark: int) -> list[dict[str, Any]]:
        """Return the lines of Sluice after the first ``mark`` lines."""
        return [line for line in self.lines()[mark:] if line["logger"] != "sluice.job"]

    def has(self, text: str, mark: int = 0) -> bool:
        return any(text in line["message"] for line in self.since(mark))

    def process(self) -> int:
        """Return the process that has started last."""
        return int([line["pid"] for line in self.lines() if " starts: " in line["message"]][-1])

    def shown(self) -> str:
        return f"{self.name}:\n{self._read()[-4000:]}"


class OperatorTrial:
    """A running installation, and the faults that it can meet. ``resumed_s`` has the seconds from the end of each fault
    to the next success."""

    def __init__(
        self, size: TrialSize, ledger: Ledger, broker_url: str, folder: Path, stack: ExitStack
    ) -> None:
        self.size = size
        self.ledger = ledger
        self.resumed_s: dict[str, float] = {}
        self._folder = folder
        self._stack = stack
        self._submitted = 0
        self._wires = {
            LEDGER: stack.enter_context(closing(Proxy(ledger.url, default_port=5432))),
            BROKER: stack.enter_context(closing(Proxy(broker_url, default_port=_port(broker_url)))),
        }
        broker = stack.enter_context(closing(connect(broker_url)))
        self._client = stack.enter_context(closing(Client(ledger, broker.publish)))
        self._commands = folder / "apps.json"
        self._commands.write_text(json.dumps(_commands(size)))
        self.control = self._start("control", queues="planner,groomer,scheduler")
        self.workers = [self._start(f"worker-{number}", queues=",".join(APPS)) for number in (1, 2)]
        self._console = stack.enter_context(_console(folder, self._words()))
        self.logs = [
            ProcessLog("control", self.control.log),
            *(ProcessLog(f"worker-{number}", each.log) for number, each in enumerate(self.workers, 1)),
            ProcessLog("console", (folder / "console.log").read_text),
        ]
        for log in self.logs:
            self._wait(lambda log=log: log.has(" starts: "), within_s=60)
        self._open_page()

    def submit(self, stages: int = 1) -> None:
        """Submit the keys of the next stages."""
        first, self._submitted = self._submitted, self._submitted + self.size.keys * stages // STAGES
        keys = range(first, min(self._submitted, self.size.keys))
        self._client.submit_many([Submission(app="sink", key=str(key)) for key in keys])

    def finish(self) -> None:
        """Submit the remaining keys, and wait until all jobs have succeeded."""
        keys = range(self._submitted, self.size.keys)
        self._client.submit_many([Submission(app="sink", key=str(key)) for key in keys])
        self._wait(lambda: self.states() == {State.SUCCEEDED: self.size.jobs}, within_s=600)

    def refuse(self) -> None:
        """Submit a key that does not fit its app. The planner must log the refusal."""
        self._client.submit(Submission(app="src", key="no_number", id="unfit"))
        assert self._client.wait("unfit", timeout_s=60).state is SubmissionState.REFUSED
        # The wait ends when the refusal is committed, and the line is written after that.
        self._wait(lambda: self.logs[0].has("'unfit'"), within_s=30)
        (line,) = [line for line in self.logs[0].lines() if "'unfit'" in line["message"]]
        assert (line["level"], "for app 'src' is refused: " in line["message"]) == ("warning", True)

    def kill(self) -> None:
        """SIGKILL a worker while it runs jobs. The control worker must name it and its jobs, and others run them."""
        self.submit()
        worker, log = self._busy_worker()
        pid, mark, mark_of_worker = log.process(), len(self.logs[0].lines()), len(log.lines())
        since = self._now()
        worker.kill_all()
        self._resumes("SIGKILL", lambda: self._loss_is_logged(pid, since, mark))
        worker.start_all()
        self._wait(lambda: log.has(" starts: ", mark_of_worker), within_s=60)

    def freeze(self) -> None:
        """Stop a worker for longer than its lease, and let it continue. It must log that it stood still."""
        self.submit()
        marks = self._marks()
        _, log = self._busy_worker()
        pid, since = log.process(), self._now()
        os.kill(pid, signal.SIGSTOP)
        self._wait(
            lambda: self._loss_is_logged(pid, since, marks["control"]), within_s=30 + self.size.lease_s
        )
        os.kill(pid, signal.SIGCONT)
        self._resumes("SIGSTOP", lambda: log.has("this process stood still for ", marks[log.name]))
        self._wait(lambda: log.has("the lease is renewed", marks[log.name]), within_s=30)
        self._few_lines(marks, servers=())

    def cut(self, *servers: str) -> None:
        """Refuse all connections to these servers for a while."""
        wires = [self._wires[server] for server in servers]
        self._outage(
            f"{' and '.join(servers)} cut",
            servers,
            begin=lambda: [wire.unplug() for wire in wires],
            end=lambda: [wire.plug() for wire in wires],
            lasts_s=self.size.outage_s,
        )

    def hang(self) -> None:
        """Let the ledger's connections stay open, and bring no answers, for longer than the lease."""
        wire, marks = self._wires[LEDGER], self._marks()
        self._outage("ledger hung", (LEDGER,), begin=wire.freeze, end=wire.thaw, lasts_s=self.size.hang_s)
        stopped = " stopped before it ends; no run begins until it is renewed: "
        for text in (stopped, "the lease is renewed, after "):
            told = [log.name for log in self.logs[1:3] if log.has(text, marks[log.name])]
            assert told, "\n".join(log.shown() for log in self.logs)

    def terminate(self) -> None:
        """SIGTERM a worker that runs a long job. It must name the job as handed back, and exit with code 0."""
        self.submit()
        worker, log = self._busy_worker()
        mark = len(log.lines())
        assert worker.terminate() == [0]
        stopping, stopped = (line for line in log.since(mark) if line["logger"] == "sluice.process")
        assert re.fullmatch(
            r"stopping: \d+ runs? (is|are) in progress, with up to \d+ s to end", stopping["message"]
        )
        assert re.fullmatch(
            r"stopped: \d+ jobs? (was|were) handed back: ((left|sink|src|right)/\d+(, )?)+( and \d+ more)?",
            stopped["message"],
        )
        worker.start_all()
        self._resumes("SIGTERM", lambda: log.has(" starts: ", mark))

    def leave(self) -> None:
        """SIGTERM everything that is left."""
        for each in (*self.workers, self.control):
            assert each.terminate() == [0]
        self._console.send_signal(signal.SIGTERM)
        assert self._console.wait(timeout=40) == 0
        for log in self.logs:
            last = [line for line in log.lines() if line["logger"].startswith("sluice.")][-1]
            assert last["message"].startswith("stopped"), log.shown()

    def states(self) -> dict[str, int]:
        found = self.ledger.transact(lambda tx: tx.rows("SELECT state, count(*) FROM job GROUP BY state"))
        return dict(found)

    def long(self, pid: int) -> list[int]:
        """Return the processes of the long jobs that this process has just begun. The ledger may have a job as running
        whose worker has not received it yet.
        """
        with suppress(psutil.NoSuchProcess):
            below = psutil.Process(pid).children(recursive=True)
            return [each.pid for each in below if _is_new_sleep(each)]
        return []

    def is_calm(self) -> bool:
        """Return whether all submitted jobs have succeeded."""
        return set(self.states()) == {State.SUCCEEDED}

    def check_ledger(self) -> None:
        """Require that each job has ended exactly once."""
        successes = self.ledger.transact(lambda tx: tx.rows(_SUCCESSES))
        assert len(successes) == self.size.jobs
        assert {count for _, count in successes} == {1}
        assert self.ledger.transact(breaches) == []

    def check_logs(self) -> None:
        """Require logs without tracebacks, errors, ids of rows and words of the inside."""
        for log in self.logs:
            for line in log.lines():
                assert {"at", "level", "logger", "pid", "message"} <= line.keys(), line
                assert "error" not in line, line
                assert "Traceback" not in line["message"], line
                assert line["level"] in ("info", "warning"), line
                if line["logger"].startswith("sluice."):
                    assert not _INSIDE.search(line["message"]), line

    def _busy_worker(self) -> tuple[Fleet, ProcessLog]:
        """Wait until a worker has begun a long job, and return it."""
        found: list[tuple[Fleet, ProcessLog]] = []

        def is_busy() -> bool:
            pairs = zip(self.workers, self.logs[1:3], strict=True)
            found[:] = [(worker, log) for worker, log in pairs if self.long(log.process())]
            return bool(found)

        self._wait(is_busy, within_s=60)
        return found[0]

    def _outage(
        self,
        name: str,
        servers: Sequence[str],
        *,
        begin: Callable[[], object],
        end: Callable[[], object],
        lasts_s: float,
    ) -> None:
        self.submit()
        self._busy_worker()
        marks = self._marks()
        begin()
        time.sleep(lasts_s)
        end()
        self._resumes(name, lambda: True)
        for log in self.logs:
            self._wait(lambda log=log: _open_outages(log.since(marks[log.name])) == [], within_s=40)
        if LEDGER in servers:
            self._heartbeats_pass()
        self._few_lines(marks, servers=servers)

    def _heartbeats_pass(self) -> None:
        """Wait until each worker has renewed its lease once more, and has logged what it gathered for one line."""
        after_s = self.size.lease_s * 4 / 3 + GATHER_S
        until = self._now() + timedelta(seconds=after_s)
        pids = [log.process() for log in self.logs[:3]]
        query = "SELECT lease_until FROM worker WHERE pid = ANY(%(pids)s) ORDER BY started_at DESC LIMIT 3"
        self._wait(
            lambda: all(
                each > until for each in self.ledger.transact(lambda tx: tx.column(query, pids=pids))
            ),
            within_s=60,
        )

    def _few_lines(self, marks: Mapping[str, int], *, servers: Sequence[str]) -> None:
        for log in self.logs:
            lines = log.since(marks[log.name])
            shown = "\n".join(f"{line['at']} {line['level']} {line['message']}" for line in log.lines())
            assert len(lines) <= LINES_MAX * max(len(servers), 1), f"{log.name}:\n{shown}"
            for server in (LEDGER, BROKER):
                starts, ends = _outages(lines, server)
                assert len(starts) == len(ends) <= (server in servers), f"{log.name}, {server}:\n{shown}"
                assert starts or server not in servers or log.name == "console", f"{log.name}:\n{shown}"

    def _loss_is_logged(self, pid: int, since: datetime, mark: int) -> bool:
        """Return whether the control worker has named the lost worker, and exactly the jobs that were taken back. It
        names at most ten."""
        told = [
            found
            for line in self.logs[0].since(mark)
            if (found := _LOST.fullmatch(line["message"])) and int(found["pid"]) == pid
        ]
        named = {name for line in told for name in line["names"].split(", ")}
        counted = sum(int(line["jobs"]) for line in told)
        taken = set(self.ledger.transact(lambda tx: tx.column(_TAKEN_BACK, since=since)))
        has_more = any(line["more"] for line in told)
        return counted == len(taken) > 0 and (named <= taken if has_more else named == taken)

    def _resumes(self, name: str, also: Callable[[], bool]) -> None:
        """Measure the time to the next success, unless all jobs have succeeded already."""
        began, before = time.monotonic(), self._successes()
        self._wait(lambda: self._successes() > before or self.is_calm(), within_s=90)
        self.resumed_s[name] = round(time.monotonic() - began, 2)
        self._wait(also, within_s=60)

    def _now(self) -> datetime:
        return self.ledger.transact(lambda tx: tx.current_time())

    def _successes(self) -> int:
        return self.states().get(State.SUCCEEDED, 0)

    def _marks(self) -> dict[str, int]:
        return {log.name: len(log.lines()) for log in self.logs}

    def _wait(self, is_so: Callable[[], object], *, within_s: float) -> None:
        def explain() -> str:
            return "\n".join([str(self.states()), *(log.shown() for log in self.logs)])

        wait_until(is_so, within_s=within_s, explain=explain)

    def _start(self, name: str, *, queues: str) -> Fleet:
        folder = self._folder / name
        folder.mkdir()
        words = self._words()
        return self._stack.enter_context(
            fleet(
                1,
                folder,
                ledger=words.pop("SLUICE_LEDGER_URL"),
                broker=words.pop("SLUICE_BROKER_URL"),
                apps=words.pop("SLUICE_APPS"),
                queues=queues,
                **words,
            )
        )

    def _words(self) -> dict[str, str]:
        return {
            "SLUICE_LEDGER_URL": self._wires[LEDGER].url,
            "SLUICE_BROKER_URL": self._wires[BROKER].url,
            "SLUICE_APPS": f"{MODULE},{self._commands}",
            "SLUICE_LEASE": f"{self.size.lease_s:g}s",
            "SLUICE_TICK": "500ms",
            "SLUICE_SHUTDOWN_GRACE": "6s",
            "SLUICE_LOG": "json",
            "SLUICE_CONSOLE_TOKEN": TOKEN,
        }

    def _open_page(self) -> None:
        """Read the console's events until the console ends, as an open page does. So it reads the ledger each
        second."""
        (line,) = [line for line in self.logs[3].lines() if " starts: " in line["message"]]
        found = re.search(r"listening at http://127\.0\.0\.1:(\d+)", line["message"])
        assert found, line
        page = self._stack.enter_context(socket.create_connection(("127.0.0.1", int(found[1]))))
        head = f"GET /api/events?watch=overview HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        page.sendall(head.encode())
        assert page.recv(65536).startswith(b"HTTP/1.1 200 ")
        Thread(target=_read_all, args=[page], daemon=True).start()


@contextmanager
def trial(size: TrialSize, ledger: Ledger, broker_url: str, folder: Path) -> Iterator[OperatorTrial]:
    with ExitStack() as stack:
        yield OperatorTrial(size, ledger, broker_url, folder, stack)


def _is_new_sleep(process: psutil.Process) -> bool:
    """Return whether this is a long job that has just begun, by the clock of the kernel, which is never set."""
    with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return process.name() == "sleep" and age_s < _JUST_S
    return False


def run(made: OperatorTrial) -> None:
    """Let the installation meet every fault, and check its ledger and its logs."""
    made.refuse()
    made.kill()
    made.freeze()
    made.cut(BROKER)
    made.cut(LEDGER)
    made.hang()
    made.cut(LEDGER, BROKER)
    made.terminate()
    made.finish()
    made.leave()
    made.check_ledger()
    made.check_logs()


def _outages(lines: Sequence[Mapping[str, Any]], server: str) -> tuple[list[str], list[str]]:
    """Return the starts and the ends of the outages of a server."""
    messages = [line["message"] for line in lines if line["logger"] == "sluice.outages"]
    about = [message for message in messages if message.startswith(f"the {server} ")]
    starts = [message for message in about if " is unreachable; " in message]
    ends = [message for message in about if " answers again, after " in message]
    assert len(starts) + len(ends) == len(about), about
    return starts, ends


def _open_outages(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    for server in (LEDGER, BROKER):
        starts, ends = _outages(lines, server)
        if len(starts) > len(ends):
            found.append(server)
    return found


def _commands(size: TrialSize) -> dict[str, Any]:
    options = {"job_id": "{n}", "identifiers": {"n": "int"}, "max_losses": 100}
    left = f"[ $(({{n}} % {size.left_every})) -ne 0 ] || sleep {size.left_s:g}"
    sink = f"[ $(({{n}} % {size.sink_every})) -ne 0 ] || sleep {size.sink_s:g}"
    return {
        "left": {**options, "depends_on": {"app_name": ["src"]}, "bash_cmd": left},
        "sink": {**options, "depends_on": {"app_name": ["left", "right"]}, "bash_cmd": sink},
    }


@contextmanager
def _console(folder: Path, words: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "sluice.ops.cli.main", "console", "--listen", "127.0.0.1:0"]
    with (folder / "console.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | words, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _read_all(page: socket.socket) -> None:
    """Read until the console has ended, or was killed because the trial has failed."""
    with suppress(OSError):
        while page.recv(65536):
            pass


def _port(url: str) -> int:
    return 5672 if url.startswith("amqp") else 6379
