"""One installation: a ledger with a role for each part, a broker, control, two workers and a console."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from sluice.broker.connect import connect
from sluice.broker.messages import CONTROL, PLANNER
from sluice.jobs.model.request_limits import BYTES_MAX
from sluice.jobs.states import LIVE, sql_list
from tests.attacks import definitions
from tests.attacks.sender import Sender
from tests.leashed import ROOT, Program
from tests.ledger.role_ledgers import Roled, roled
from tests.ops.caller import Caller
from tests.ops.typist import Typist, has_fault
from tests.private_servers import SERVERS, free_port

#: Tokens, and a secret of the workers that no job may print.
OPERATE = "the token to operate these tests"
VIEW = "the token to look at these tests"
SECRET = "a-secret-of-the-worker-7b3f9d"
BEGIN_WITHIN_S = 120.0
ENDS_WITHIN_S = 60.0
_TERMINAL = ("refused", "succeeded", "failed", "cancelled", "unsatisfiable")


class Installation:
    """Running installation.

    Everything that it writes is below ``folder``. The probe's jobs write their times to ``probes``.
    """

    def __init__(self, stack: ExitStack, folder: Path, place: Roled, broker_url: str) -> None:
        self.folder = folder
        self.place = place
        self.broker_url = broker_url
        self.probes = folder / "probes"
        self.home = folder / "home"
        for each in (self.probes, self.home):
            each.mkdir()
        self.apps = definitions.write(folder, self.probes)
        self._stack = stack
        self._broker = connect(broker_url)
        stack.callback(self._broker.close)
        self.parts: dict[str, Program] = {}
        self._begin()

    def _begin(self) -> None:
        port = free_port()
        self.port = port
        self.operator = Caller(port, Authorization=f"Bearer {OPERATE}")
        self.viewer = Caller(port, Authorization=f"Bearer {VIEW}")
        console = {"SLUICE_CONSOLE_TOKEN": OPERATE, "SLUICE_CONSOLE_VIEW_TOKEN": VIEW}
        self._start("control", "control", _worker(*CONTROL))
        self._start("worker", "worker", _worker(*definitions.SERVED))
        self._start("sealed", "worker", _worker(*definitions.SEALED), SLUICE_SANDBOX="bubblewrap")
        listen = [sys.executable, "-m", "sluice.ops.cli.main", "console", "--listen", f"127.0.0.1:{port}"]
        self._start("console", "worker", listen, **console)
        self.wait(self._is_up, within_s=BEGIN_WITHIN_S)

    def _start(self, name: str, role: str, command: list[str], **settings: str) -> None:
        folder = self.folder / name
        (folder / "data").mkdir(parents=True)
        (self.home / ".npmrc").write_text(SECRET)
        (folder / "data" / "sluice.env").write_text(f"SLUICE_CONSOLE_TOKEN={SECRET}\n")
        program = Program(command, folder, self.environment(role) | settings, self._log(name))
        self._stack.callback(program.kill)
        self.parts[name] = program
        program.start()

    def environment(self, role: str) -> dict[str, str]:
        """Return the settings of a process that has this role in the database."""
        outer = {name: text for name, text in os.environ.items() if not name.startswith("SLUICE_")}
        return outer | {
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.home),
            "SLUICE_APPS": str(self.apps),
            "SLUICE_LEDGER_URL": self.place.url(role),
            "SLUICE_BROKER_URL": self.broker_url,
            "SLUICE_BLOBS_URL": str(self.folder / "blobs"),
            "SLUICE_PROGRAMS_DIR": str(self.folder / "programs"),
            "SLUICE_LINEAGE_TOKEN": SECRET,
            "PGAPPNAME": "attacked",
        }

    def typist(self, role: str = "control") -> Typist:
        """Return a typist for commands, in a folder of its own."""
        desk = self.folder / "desk"
        desk.mkdir(exist_ok=True)
        typist = Typist(desk)
        typist.environment = self.environment(role)
        return typist

    # Access for attackers.

    def connect(self, role: str) -> psycopg.Connection[Any]:
        return self.place.connect(role)

    def submits(self, request: str) -> str:
        """Submit by SQL, as the role that may do nothing else. Return the id. The database may raise an exception."""
        with self.connect("submitter") as connection:
            (id_,) = connection.execute("SELECT sluice.submit(%s::jsonb)", (request,)).fetchone() or ("",)
        return str(id_)

    def submits_by_http(self, request: Mapping[str, Any]) -> str:
        """Submit by the console. Return the id of the accepted submission."""
        answer = self.operator.posts("/api/submissions", request)
        assert answer.status == 202, answer
        return str(answer.document["submission"])

    def refused_by_http(self, request: Mapping[str, Any]) -> str:
        """Submit by the console. Return the sentence with which it refuses the submission."""
        answer = self.operator.posts("/api/submissions", request)
        assert answer.status in {400, 413, 422}, answer
        return line(str(answer.document["detail"]))

    def refused_by_sql(self, role: str, statement: str, *values: Any) -> str:
        """Execute a statement. Return the line with which the database refuses it."""
        try:
            with self.connect(role) as connection:
                connection.execute(statement.encode(), values)
        except psycopg.Error as error:
            return line(str(error))
        raise AssertionError(f"{role} may {statement[:200]}")

    def sender(self) -> Sender:
        return Sender(self.broker_url)

    # Access for the tests themselves.

    def asks(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return rows that a superuser reads."""
        with psycopg.connect(self.place.admin_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def settled(self, id: str, *, within_s: float = 30.0) -> tuple[str, str]:
        """Wait until a submission has ended. Return its state and reason."""
        found: list[tuple[str, str]] = []

        def is_over() -> bool:
            rows = self.asks("SELECT state, coalesce(reason, '') FROM submission WHERE id = %s", id)
            found[:] = [(str(state), str(reason)) for state, reason in rows]
            return bool(found) and found[0][0] in _TERMINAL

        self.wait(is_over, within_s=within_s, explain=lambda: f"submission {id}: {found}")
        return found[0]

    def state(self, id: str) -> str:
        """Return the state of a submission, or "" for an unknown one."""
        return next((str(row[0]) for row in self.asks("SELECT state FROM submission WHERE id = %s", id)), "")

    def jobs_of(self, app: str) -> int:
        """Return the number of an app's jobs that have not ended."""
        asked = f"SELECT count(*) FROM job WHERE app = %s AND state IN ({sql_list(*LIVE)})"
        return int(self.asks(asked, app)[0][0])

    def refused(self, id: str, why: str) -> str:
        """Return the reason with which the planner has refused a submission."""
        state, reason = self.settled(id)
        assert state == "refused", f"submission {id} is {state}"
        assert why in reason, reason
        return line(reason)

    def failed(self, id: str, app: str, key: str, why: str, *, within_s: float = 30.0) -> str:
        """Return the first line of the error of a submission's only job, which must have failed.

        If the job is a function of its own, a traceback may follow.
        """
        state, _ = self.settled(id, within_s=within_s)
        rounds = self.operator.reads(f"/api/jobs/{app}/{key}")["rounds"]
        error = str(rounds[-1]["error"])
        assert state == "failed", (state, error)
        assert why in error, error
        return line(error.strip().partition("\n")[0])

    def dead_letters(self) -> int:
        """Return the number of refused messages to the planner, which are kept aside."""
        return self._broker.dead_letters(PLANNER)

    def log(self, name: str) -> str:
        return self._log(name).read_text(errors="replace")

    def log_sizes(self) -> Mapping[str, int]:
        return {name: self._log(name).stat().st_size for name in self.parts}

    def faults_since(self, sizes: Mapping[str, int]) -> list[str]:
        """Return the parts that have ended, and the logs that got a traceback since they had these sizes."""
        found = [f"{name} has ended" for name, part in self.parts.items() if not part.runs]
        for name, size in sizes.items():
            new = self._log(name).read_bytes()[size:].decode(errors="replace")
            if has_fault(new):
                found.append(f"{name}: {new[-3000:]}")
        return found

    def wait(
        self, is_so: Callable[[], object], *, within_s: float, explain: Callable[[], str] | None = None
    ) -> None:
        deadline = time.monotonic() + within_s
        while not is_so():
            ended = [complaint for part in self.parts.values() if (complaint := part.complaint())]
            assert not ended, ended
            assert time.monotonic() < deadline, explain() if explain else "it did not happen in time"
            time.sleep(0.05)

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _is_up(self) -> bool:
        with suppress(OSError):
            ready = all("ready for action" in self.log(name) for name in ("control", "worker", "sealed"))
            return ready and self.viewer.gets("/api/workers").status == 200
        return False


def line(text: str) -> str:
    """Return the first line of a refusal, which has to be clear by itself."""
    first = next(iter(text.strip().splitlines()), "")
    assert first, "it was refused without a word"
    assert "Traceback" not in text, text
    return re.sub(r"\s+", " ", first)[:BYTES_MAX]


@contextmanager
def installation(folder: Path, broker: str) -> Iterator[Installation]:
    with ExitStack() as stack:
        place = stack.enter_context(roled(folder / "postgres"))
        server = stack.enter_context(SERVERS[broker]())
        yield Installation(stack, folder, place, server.url)


def _worker(*queues: str) -> list[str]:
    return [sys.executable, "-m", "actors.worker", "--threads", "4", "--queues", ",".join(queues)]
