"""Scripted sagas on the embedded default: ``sluice up`` and ``sluice run`` in a folder without any other configuration.

Each command starts the Postgres of that folder or joins it. All messages stay in the command's process. The result of a
flight is read from ``show`` and from the files that its steps have written.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from sluice.actors.client import Client
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.embedded import start
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.schema import migrate
from sluice.ops.cli.main import main
from tests.ops.typist import ROOT, Said, Typist

SCRIPTED = ROOT / "tests" / "scripted.py"
#: Lease of the workers. It is short so that another worker soon continues the flights of a killed one.
LEASE = "1s"
RESTARTS_MAX = 60


class Script(Struct, frozen=True, kw_only=True):
    """One flight: the script that it follows and the expected result.

    In ``calls``, d1 is the do of step 1 and u1 its undo. ``script`` holds the kwargs for ``tests.scripted``, ``debug``
    the debug options of the submission. ``found`` is the working map that each call finds, ``working`` the map at the
    end. ``error`` belongs to the do that failed.
    """

    calls: str
    state: State = State.SUCCEEDED
    script: Mapping[str, Any] = {}
    debug: Mapping[str, Any] = {}
    found: Sequence[Mapping[str, Any]] | None = None
    working: Mapping[str, Any] = {}
    error: str | None = None


class Airfield(Typist):
    """Folder for commands that run in this process (``typed``, which returns a document) or as separate processes."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> None:
        settings = {
            "SLUICE_HOME": str(folder / "home"),
            "SLUICE_APPS": str(SCRIPTED),
            "SLUICE_LEASE": LEASE,
            "SLUICE_TICK": "100ms",
            "EFFECTS": str(folder / "effects"),
        }
        super().__init__(folder, **settings)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        self._capture = capture

    def submits(self, scripts: Mapping[str, Script]) -> None:
        """Write the submissions to the ledger, without notifying a planner."""
        with self.opened() as ledger:
            Client(ledger, lambda _: None).submit_many(
                [_submission(key, each) for key, each in scripts.items()]
            )

    def drains(self, *words: str, **settings: str) -> tuple[int, Said]:
        """Run ``up --drain``, and again each time that it is killed. Return the number of kills and the result of the
        last run, with the stderr of all runs.
        """
        errors = ""
        for deaths in range(RESTARTS_MAX):
            said = self.runs("up", "--drain", *words, **settings)
            errors += said.err
            if said.code != -9:
                assert said.code == 0, said
                return deaths, Said(said.code, said.out, errors)
        raise AssertionError(f"it was killed {RESTARTS_MAX} times")

    def typed(self, *words: str, code: int = 0) -> Any:
        assert main(["--json", *words]) == code
        return json.loads(self._capture.readouterr().out)

    def shows(self, key: str) -> Any:
        return self.typed("show", "pointed", key)

    @property
    def running(self) -> set[str]:
        return {each["key"] for each in self.typed("ls", "--state", "running")}

    @contextmanager
    def opened(self) -> Iterator[Ledger]:
        """Yield the ledger. Its Postgres runs meanwhile."""
        with start(self.folder / "home") as postgres:
            migrate.upgrade(postgres.url)
            with closing(Ledger(postgres.url, connections=1)) as ledger:
                yield ledger

    def leaves_nothing(self) -> None:
        """Stop the Postgres of a killed process: join it, and leave it as its last user."""
        with start(self.folder / "home"):
            pass

    @property
    def calls(self) -> dict[str, str]:
        """The calls of each flight, over all of its runs."""
        calls: dict[str, str] = {}
        effects = self.folder / "effects"
        for line in effects.read_text().splitlines() if effects.exists() else []:
            _, key, call, step = line.split()
            calls[key] = f"{calls.get(key, '')} {call[0]}{step}".strip()
        return calls

    def found(self, key: str) -> list[dict[str, Any]]:
        """Return the working maps that the calls of a flight found."""
        file = self.folder / f"effects.pointed.{key}.found"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def made(self, key: str) -> set[int]:
        """Return the steps of a flight that were done and not undone."""
        return {int(file.suffix[1:]) for file in self.folder.glob(f"effects.pointed.{key}.made.*")}

    def waits_for_calls(self, expected: Mapping[str, str], *, within_s: float = 60.0) -> None:
        """Wait until another process has made at least these calls."""
        self.awaits(
            lambda: all(self.calls.get(key, "").startswith(calls) for key, calls in expected.items()),
            within_s=within_s,
        )

    def awaits(self, is_so: Callable[[], object], *, within_s: float = 60.0) -> None:
        """Wait until other processes have brought about a condition. It is checked every 0.2 s only, because each check
        costs them time.
        """
        deadline = time.monotonic() + within_s
        while not is_so():
            assert time.monotonic() < deadline, f"it did not come about; {self.calls} were called"
            time.sleep(0.2)

    def wrong(self, scripts: Mapping[str, Script]) -> dict[str, Any]:
        """Return the actual and the expected result of each flight where the two differ, and the invariants that the
        ledger violates.
        """
        with self.opened() as ledger:
            came_to = {key: (self._came_to(key, script), _told(script)) for key, script in scripts.items()}
            broken = ledger.transact(breaches)
        wrong: dict[str, Any] = {key: pair for key, pair in came_to.items() if pair[0] != pair[1]}
        return wrong | ({"breaches": broken} if broken else {})

    def _came_to(self, key: str, script: Script) -> dict[str, Any]:
        shown = self.shows(key)
        saga = shown["saga"]
        failure = (saga["failure"] or {}).get("message", "")
        found = [each["working"] for each in self.found(key)]
        return {
            "calls": self.calls.get(key, ""),
            "state": shown["state"],
            "round": shown["round"],
            "working": saga["working"],
            "found": found if script.found is not None else None,
            "error": script.error
            if script.error is not None and script.error in failure
            else failure or None,
            "made": self.made(key),
        }


def _submission(key: str, script: Script) -> Submission:
    policy = {"debug": script.debug} if script.debug else {}
    return Submission(app="pointed", key=key, kwargs=script.script, policy=policy, id=key)


def _told(script: Script) -> dict[str, Any]:
    return {
        "calls": script.calls,
        "state": script.state,
        "round": 0,
        "working": script.working,
        "found": script.found,
        "error": script.error,
        "made": _left(script),
    }


def _left(script: Script) -> set[int]:
    """Return the steps with effects that remain: all of them, none, or the steps that could not be undone."""
    calls = script.calls.split()
    steps = {int(call[1:]) for call in calls if call[0] == "d"}
    undone = [int(call[1:]) for call in calls if call[0] == "u"]
    if script.state is State.FATAL:
        return {step for step in steps if step <= undone[-1]}
    return steps if script.state is State.SUCCEEDED else set()
