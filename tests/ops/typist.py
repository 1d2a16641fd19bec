"""``sluice`` commands in a folder, run inside this process or in processes of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.job_graph.known_jobs import find
from tests.ops.command_calls import Said, call

ROOT = Path(__file__).parents[2]
#: Nothing answers at port 1.
NO_LEDGER = "postgresql://127.0.0.1:1/sluice"
#: A line of the log about a failed round, and the traceback of the job below it.
_FAILED_JOB = re.compile(
    r"^\d{4}-\d\d-\d\d .* failed in round \d+: .*\n(?:(?!\d{4}-\d\d-\d\d ).*\n?)*", re.MULTILINE
)


class Typist:
    """Folder in which commands run, without the ``SLUICE_*`` variables of the tester's own environment.

    ``ledger`` is the ledger that the commands use, for tests that wait for another process.
    """

    ledger: Ledger

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        outer = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        self.environment = outer | {"PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"} | settings

    def types(self, *words: str, given: str = "", **settings: str) -> Said:
        """Run one command to its end, inside this process, which saves half a second of starting one."""
        said = call(words, folder=self.folder, environment=self.environment | settings, given=given)
        assert not has_fault(said.err), said.err
        return said

    def runs(self, *words: str, given: str = "", **settings: str) -> Said:
        """Run one command to its end, as a process of its own."""
        done = subprocess.run(
            _command(words),
            cwd=self.folder,
            env=self.environment | settings,
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not has_fault(done.stderr), done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def asks(self, *words: str, **settings: str) -> Any:
        """Return the document that a command prints. The command must succeed."""
        said = self.types(*words, "--json", **settings)
        assert said.code == 0, said.err
        return said.document

    @contextmanager
    def starts(
        self, *words: str, log: IO[str] | None = None, **settings: str
    ) -> Iterator[subprocess.Popen[str]]:
        """Start a command beside the test. At the end it is killed if it has not ended by itself. Its output goes to
        ``log``, or to pipes. A test that does not read them needs a log if the command writes more than 64 kB."""
        process = subprocess.Popen(
            _command(words),
            cwd=self.folder,
            env=self.environment | settings,
            stdout=log or subprocess.PIPE,
            stderr=log or subprocess.PIPE,
            text=True,
            preexec_fn=hear_interrupts,  # noqa: PLW1509 - it sets one signal handler and nothing else
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def waits_until(self, app: str, key: str, state: State, *, within_s: float = 30.0) -> None:
        """Wait for another process to bring a job to this state."""
        deadline = time.monotonic() + within_s
        while self._state(app, key) is not state:
            assert time.monotonic() < deadline, f"{app}/{key} is {self._state(app, key)}, not {state}"
            time.sleep(0.05)

    def _state(self, app: str, key: str) -> State | None:
        name = JobName(app, key)
        known = self.ledger.transact(lambda tx: find(tx, [name]))
        return known[name].state if name in known else None

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def apps(self, name: str, apps: Mapping[str, Any]) -> Path:
        return self.write(name, json.dumps(apps))


def ended(process: subprocess.Popen[str], *, within_s: float = 75.0) -> Said:
    """Wait until a started command ends, and return its result. The limit is longer than the shutdown of an embedded
    Postgres may take, so that a failed shutdown reports its own error. A command that does not end prints its stacks.
    """
    try:
        out, err = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        _, err = process.communicate()
        raise AssertionError(f"It has not ended:\n{err}") from None
    assert not has_fault(err), err
    return Said(process.returncode, out, err)


def has_fault(err: str) -> bool:
    """Return whether there is a traceback that is not of a job. Workers log the tracebacks of jobs."""
    return "Traceback" in _FAILED_JOB.sub("", err)


def _command(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "sluice.ops.cli.main", *words]


def hear_interrupts() -> None:
    """Undo the effect of a shell on a command in the background: the command and its children ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
