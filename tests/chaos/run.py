"""One run: servers and workers start, work is asked for while everything goes wrong; it heals, and is judged."""

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

from sluice.actors.by_hand import pause
from sluice.actors.client import Client
from sluice.broker.carrier import Broker
from sluice.broker.connect import connect
from sluice.broker.messages import GROOMER, SCHEDULER
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import Unreachable
from sluice.jobs.states import LIVE, State, sql_list
from sluice.jobs.submission import SubmissionState
from sluice.ledger.connection import Ledger
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

#: Workers begin within this, and after the end all has to become terminal within this.
_BEGIN_WITHIN_S, _SETTLE_WITHIN_S = 240.0, 400.0
_UNDONE_WITHIN_S = 120.0
#: The exit code of who could not reach the ledger or the broker.
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
    """``worker`` is the command that starts a worker; ``enough`` jobs are kept waiting to be done."""

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
    """Its parts, in the order in which they start; the stack ends them in the other."""

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
        # Where a worker takes as long to begin as a short run lasts, some acts are put off to after its end.
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
        self._wait(self._at_work, _BEGIN_WITHIN_S)  # Who was started a moment ago is deaf yet.
        left = [f"liveness: {each}" for each in self._open()]
        left += [f"{name} left with {code} when told to end" for name, code in self._fleet.end().items()]
        left += [f"{name} did not end when told to, in the middle of the run" for name in self._stuck()]
        left += [f"{name}: processes survived the first one" for name in self._survivors()]
        left += [f"{name} left with {code}, and nobody had told it to" for name, code in self._deserters()]
        left += [f"a process is left: {each}" for each in self._processes()]
        self._record.name_jobs(self._ledger)
        found = figures(
            self._ledger,
            self._folder,
            broken=dict(sum((each.broken for each in wires.values()), Counter())),
            deadlocks=len(self._database.deadlocks()),
            settled_s=settled_s,
        )
        broken = [f"{each.rule}: {each.what}" for each in check(self._folder, self._database.url)]
        return Result(figures=found, violations=[*left, *broken])

    def _stuck(self) -> list[str]:
        return self._noted("stuck")

    def _survivors(self) -> list[str]:
        return self._noted("survived")

    def _noted(self, what: str) -> list[str]:
        """The workers of which the nemesis has noted this."""
        return [line["whom"] for line in read(self._folder / "nemesis.jsonl") if line["act"] == what]

    def _deserters(self) -> list[tuple[str, int]]:
        """Of those who were started again: whoever begins while a server is away may leave, and has to say why."""
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
        """A process of its own too; where it listens."""
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
            """Not the planner's: what is submitted by a message is nowhere else until the ledger has it."""
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
        """Whether all workers are there, and have made their queues, one has done something, and one keeps the time."""
        self._revive()
        there, done, fired = self._ledger.transact(lambda tx: tx.rows(_WORKING))[0]
        return bool(there >= len(fleet.ALL) and done and fired)

    def _live(self) -> int:
        """While the database is away nobody can tell, and no more is asked for."""
        try:
            found: int = self._ledger.transact(lambda tx: tx.column(_LIVE))[0]
        except Unreachable:
            return self._options.enough
        return found

    def _settled(self) -> bool:
        """Whether all is terminal that anybody was promised. Who began while a server was away leaves afterwards."""
        self._revive()
        return not self._open()

    def _at_work(self) -> bool:
        self._revive()
        return self._fleet.works()

    def _open(self) -> list[str]:
        """What has not ended, and what was accepted by a message that has not been taken in; some of it."""
        accepted = [line["id"] for line in read(self._folder / "submitted.jsonl")]
        return self._ledger.transact(lambda tx: tx.column(_OPEN, accepted=accepted))

    def _revive(self) -> None:
        """Start whoever is gone again, at times when that is not the nemesis's to do."""
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
        """Those of this run: its folder stands in their environment."""
        found = []
        for each in psutil.process_iter(["cmdline", "environ", "status"]):
            if (each.info["environ"] or {}).get(VARIABLE) == str(self._record.effects):
                found.append(f"{each.pid} {each.info['status']} {' '.join(each.info['cmdline'] or [])}")
        return [each for each in found if "sluice.ops.cli.main" not in each]
