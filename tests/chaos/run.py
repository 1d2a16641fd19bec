"""One run: servers and workers start, jobs are submitted while faults happen, everything heals, and is judged."""

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil
from msgspec import Struct

from sluice.actors.client import Client
from sluice.actors.scheduler.manual import pause
from sluice.broker.connect import connect
from sluice.broker.interface import Broker
from sluice.broker.messages import GROOMER, SCHEDULER
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Ledger
from tests.chaos import acts, fleet, pipeline, program, stamps
from tests.chaos.checker import check
from tests.chaos.database import Database
from tests.chaos.echoes import Echoes
from tests.chaos.effects import VARIABLE
from tests.chaos.figures import Figures, figures
from tests.chaos.fleet import Apps, Fleet, environment
from tests.chaos.nemesis import Nemesis
from tests.chaos.record import Record, read
from tests.chaos.sender import Sender
from tests.chaos.wires import Urls, Wires
from tests.leashed import Program
from tests.private_servers import SERVERS, free_port

#: Seconds within which workers begin, and seconds after the end within which all jobs have to become terminal.
_BEGIN_WITHIN_S, _SETTLE_WITHIN_S = 240.0, 400.0
_UNDONE_WITHIN_S = 120.0
#: Exit code of a process that could not reach the ledger or the broker.
_OUT_OF_REACH = 3

_LIVE = f"""
SELECT (SELECT count(*) FROM job WHERE state IN ({sql_list(*sorted(LIVE - {State.EXPECTED}))}))
    + 5 * (SELECT count(*) FROM submission WHERE state = '{SubmissionState.RECEIVED}')
"""
_WORKING = f"""
SELECT (SELECT count(*) FROM worker), EXISTS (SELECT 1 FROM job WHERE state = '{State.SUCCEEDED}'),
    EXISTS (SELECT 1 FROM firing)
"""
_OPEN = f"""
SELECT 'job ' || app || '/' || key || ' is ' || state FROM job
WHERE state IN ({sql_list(*sorted(LIVE - {State.EXPECTED}))})
UNION ALL
SELECT 'submission ' || id || ' is ' || state FROM submission
WHERE state IN ({sql_list(SubmissionState.RECEIVED, SubmissionState.ACTIVE)})
UNION ALL
SELECT 'submission ' || id || ' has not been taken in' FROM unnest(%(accepted)s::text[]) AS said (id)
WHERE NOT EXISTS (SELECT 1 FROM submission WHERE submission.id = said.id)
LIMIT 50
"""


class Options(Struct, frozen=True, kw_only=True):
    """Options of a run.

    ``worker`` is the command that starts a worker; ``enough`` is the number of jobs kept waiting.
    """

    seconds: float
    seed: int
    broker: str = "rabbit"
    keep: Path | None = None
    worker: tuple[str, ...] = fleet.COMMAND
    enough: int = 400
    calm: float = 1.0


class Result(Struct, frozen=True, kw_only=True):
    figures: Figures
    violations: Sequence[str]


def run(options: Options) -> Result:
    with ExitStack() as stack:
        folder = options.keep or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-chaos-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        return _Run(options, folder, stack).result()


class _Run:
    """Parts of a run, in the order in which they start. The stack ends them in reverse order."""

    def __init__(self, options: Options, folder: Path, stack: ExitStack) -> None:
        self._options, self._folder, self._stack = options, folder, stack
        self._home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-fleet-")))
        self._record = Record(folder)
        self._server = stack.enter_context(SERVERS[options.broker]())
        self._database = Database(folder / "ledger")
        stack.callback(self._database.close)
        self._ledger = self._opened(self._database.url)
        self._ledger.transact(lambda tx: tx.write(stamps.MAKE))
        self._record.begin(
            self._ledger, self._database.url,
            seed=options.seed, seconds=options.seconds, broker=options.broker,
        )  # fmt: skip
        sources = [pipeline.__file__, str(program.written(self._home))]
        self._catalogue: Catalogue = load(sources)
        self._apps = Apps(sources, sorted(self._catalogue))
        self._urls = Urls(self._server.url, self._database.url)
        self._fleet = Fleet(
            stack, self._record, self._home, urls=self._urls, apps=self._apps, command=options.worker
        )

    def result(self) -> Result:
        wires = {place: self._wires() for place in ("client", "console")}
        client, console = wires.values()
        address = self._console(console)
        self._fleet.start()
        sender = self._sender(client, address)
        sender.start()
        if not self._wait(self._working, _BEGIN_WITHIN_S):
            raise RuntimeError(
                f"not all kinds of work begin within {_BEGIN_WITHIN_S:.0f} s; see {self._record.logs}"
            )
        wires |= {worker.name: worker.wires for worker in self._fleet}
        nemesis = self._nemesis(wires)
        ends = time.monotonic() + self._options.seconds
        nemesis.start()
        # If a worker takes as long to start as a short run lasts, some acts happen after its planned end.
        self._wait(
            lambda: nemesis.error or sender.error or (time.monotonic() > ends and not nemesis.undone),
            self._options.seconds + _UNDONE_WITHIN_S,
        )
        sender.end()
        nemesis.end()
        for error in filter(None, (nemesis.error, sender.error)):
            raise error
        sender.let_go()
        return self._judged(wires)

    def _judged(self, wires: dict[str, Wires]) -> Result:
        ended = time.monotonic()
        pause(self._ledger, self._catalogue, sorted(self._catalogue.schedules))
        self._wait(self._settled, _SETTLE_WITHIN_S)
        settled_s = time.monotonic() - ended
        self._wait(
            self._at_work, _BEGIN_WITHIN_S
        )  # A worker that has just started does not handle SIGTERM yet.
        left = [f"liveness: {each}" for each in self._open()]
        left += [
            f"{name} ended with exit code {code} after SIGTERM" for name, code in self._fleet.end().items()
        ]
        left += [f"{name} did not end after SIGTERM in the middle of the run" for name in self._stuck()]
        left += [f"{name}: processes survived the first process" for name in self._survivors()]
        left += [f"{name} ended with exit code {code} without a signal" for name, code in self._deserters()]
        left += [f"a process is left: {each}" for each in self._processes()]
        self._record.name_jobs(self._ledger)
        found = figures(
            self._ledger,
            self._folder,
            broken=dict(sum((each.broken for each in wires.values()), Counter())),
            deadlocks=self._database.deadlocks(),
            settled_s=settled_s,
        )
        broken = [f"{each.rule}: {each.what}" for each in check(self._folder, self._database.url)]
        return Result(figures=found, violations=[*left, *broken])

    def _stuck(self) -> list[str]:
        return self._noted("stuck")

    def _survivors(self) -> list[str]:
        return self._noted("survived")

    def _noted(self, what: str) -> list[str]:
        """Return the workers for which the nemesis has recorded this."""
        return [line["whom"] for line in read(self._folder / "nemesis.jsonl") if line["act"] == what]

    def _deserters(self) -> list[tuple[str, int]]:
        """Return the workers that exited unexpectedly, with their exit codes.

        A worker that starts while a server is down may exit, but with the code for that.
        """
        gone = [line for line in read(self._folder / "nemesis.jsonl") if line["act"] == "revive"]
        return [(line["whom"], line["exit_code"]) for line in gone if line["exit_code"] != _OUT_OF_REACH]

    def _wires(self) -> Wires:
        made = Wires(self._urls)
        self._stack.callback(made.close)
        return made

    def _opened(self, url: str) -> Ledger:
        ledger = Ledger(url)
        self._stack.callback(ledger.close)
        return ledger

    def _connected(self, url: str) -> Broker:
        broker = connect(url)
        self._stack.callback(broker.close)
        return broker

    def _console(self, wires: Wires) -> tuple[str, int]:
        """Start the console in a process of its own. Return its address."""
        port = free_port()
        command = [sys.executable, "-m", "sluice.ops.cli.main", "console", "--listen", f"127.0.0.1:{port}"]
        home = self._home / "console"
        home.mkdir()
        words = environment(self._record, wires, self._apps)
        console = Program(command, home, words, log=self._record.logs / "console.log")
        self._stack.callback(console.kill)
        console.start()
        return "127.0.0.1", port

    def _sender(self, wires: Wires, console: tuple[str, int]) -> Sender:
        broker = self._connected(wires.broker.url)
        client = Client(self._opened(wires.ledger.url), broker.publish)
        return Sender(
            seed=self._options.seed,
            record=self._record,
            client=client,
            broker=broker,
            console=console,
            live=self._live,
            enough=self._options.enough,
        )

    def _nemesis(self, wires: dict[str, Wires]) -> Nemesis:
        options = self._options
        broker = self._connected(self._server.url)
        rng = random.Random(f"{options.seed}/messages")

        def purge() -> str:
            """Empty a random queue, but not the planner's: it has the only copy of submissions that came by message."""
            queue = rng.choice([*self._apps.names, GROOMER, SCHEDULER])
            broker.purge(queue)
            return queue

        return Nemesis(
            acts=acts.drawn(options.seed, options.seconds, options.calm),
            record=self._record,
            fleet=self._fleet,
            wires=wires,
            servers=(self._server, self._database),
            echoes=Echoes(self._ledger, broker, rng),
            purge=purge,
        )

    def _working(self) -> bool:
        """Return whether all workers have registered, a job has succeeded, and a schedule has fired.

        A registered worker has made its queues.
        """
        self._revive()
        there, done, fired = self._ledger.transact(lambda tx: tx.rows(_WORKING))[0]
        return bool(there >= len(fleet.ALL) and done and fired)

    def _live(self) -> int:
        """Return the number of live jobs. While the database is down, return enough to pause new submissions."""
        try:
            found: int = self._ledger.transact(lambda tx: tx.column(_LIVE))[0]
        except Unreachable:
            return self._options.enough
        return found

    def _settled(self) -> bool:
        """Return whether everything that was accepted is terminal.

        Workers that exited because a server was down restart.
        """
        self._revive()
        return not self._open()

    def _at_work(self) -> bool:
        self._revive()
        return self._fleet.works()

    def _open(self) -> list[str]:
        """Return some of the live jobs, open submissions, and accepted submissions that the ledger does not have."""
        accepted = [line["id"] for line in read(self._folder / "submitted.jsonl")]
        return self._ledger.transact(lambda tx: tx.column(_OPEN, accepted=accepted))

    def _revive(self) -> None:
        """Restart workers that have exited, while the nemesis does not do so."""
        for name, code in self._fleet.revive():
            self._record.did("revive", name, exit_code=code)

    def _wait(self, is_so: Callable[[], object], within_s: float) -> bool:
        deadline = time.monotonic() + within_s
        while not is_so():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def _processes(self) -> list[str]:
        """Return the processes of this run. The folder of the effects is in their environment."""
        found = []
        for each in psutil.process_iter(["cmdline", "environ", "status"]):
            if (each.info["environ"] or {}).get(VARIABLE) == str(self._record.effects):
                found.append(f"{each.pid} {each.info['status']} {' '.join(each.info['cmdline'] or [])}")
        return [each for each in found if "sluice.ops.cli.main" not in each]
