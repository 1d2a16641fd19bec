"""Commands that get events: their input and environment, their end, and the reason if they fail."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.notifications import command
from sluice.jobs.notifications.body import EventBody
from sluice.jobs.notifications.rules import JobEvent
from sluice.jobs.policy.sandbox_settings import Fence
from sluice.jobs.runners.process.sandbox import Sandbox
from tests.jobs.runners.runner_bench import alive, eventually, pids_in
from tests.jobs.runners.sandboxes import LIMITS, OFF, WALLED, walled

ROOT = Path(__file__).parents[2]
EVENT = EventBody(
    id="0197",
    event=JobEvent.FAILED,
    app="load",
    key="a b; echo $(exit 9)",
    submission=None,
    state="failed",
    error="exit code 2",
    link=None,
    attempt=1,
    at="2026-01-01T00:00:00Z",
)
WORKER = {"PATH": "/usr/bin:/bin", "SLUICE_LEDGER_URL": "postgresql://secret", "TOKEN": "secret"}
levels = pytest.mark.parametrize("fence", [OFF, LIMITS, pytest.param(WALLED, marks=walled)])


def run(text: str, fence: Fence = LIMITS, stop: threading.Event | None = None, **words: Any) -> str | None:
    return command.run(text, EVENT, Sandbox(fence), stop or threading.Event(), WORKER, **words)


def printed(text: str, fence: Fence = LIMITS) -> str:
    """Return the output of a command. It fails, because an error is the only place for it."""
    error = run(f"{text}; exit 3", fence)
    assert error is not None
    assert error.startswith("the command exited with 3: ")
    return error.removeprefix("the command exited with 3: ")


@levels
def test_the_event_is_json_on_standard_input(fence: Fence) -> None:
    event = json.loads(printed("cat", fence))
    assert (event["id"], event["key"], event["submission"]) == ("0197", EVENT.key, None)


@levels
def test_the_environment_has_the_event_and_no_secret(fence: Fence) -> None:
    lines = dict(line.split("=", 1) for line in printed("env", fence).splitlines())
    assert lines["SLUICE_JOB"] == EVENT.key
    assert {name: text for name, text in lines.items() if name.startswith("SLUICE_")} == {
        "SLUICE_EVENT_ID": "0197",
        "SLUICE_EVENT": "failed",
        "SLUICE_APP": "load",
        "SLUICE_JOB": EVENT.key,
        "SLUICE_SUBMISSION": "",
        "SLUICE_STATE": "failed",
        "SLUICE_ERROR": "exit code 2",
        "SLUICE_LINK": "",
        "SLUICE_ATTEMPT": "1",
        "SLUICE_AT": "2026-01-01T00:00:00Z",
    }
    assert "secret" not in str(lines)


def test_exit_code_0_accepts_the_event_although_the_input_is_not_read() -> None:
    assert run("echo output; echo trouble >&2") is None


def test_the_end_of_the_output_is_kept() -> None:
    error = run("printf '%5000s' x; echo reason at https://u:pass@example.org >&2; exit 1")
    assert error is not None
    assert error.endswith("x\nreason at https://***@example.org")
    assert len(error) < command.OUTPUT_MAX + 100


def test_a_signal_and_a_missing_program_are_failures() -> None:
    assert run("kill -9 $$") == "the command failed: killed by signal 9 (SIGKILL)"
    assert "exited with 127" in (run("/no/such/program") or "")


def test_a_command_over_its_limit_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    error = run(f"sleep 600 & printf '%s\\n' $! $$ > {pids}; echo waiting; wait", timeout_s=5.0)
    assert error == "the command ran over its limit of 5 s: waiting"
    assert len(pids_in(pids)) == 2
    eventually(lambda: not any(map(alive, pids_in(pids))))


def test_a_command_ends_with_the_process_that_delivers(tmp_path: Path) -> None:
    pids, stop, found = tmp_path / "pids", threading.Event(), list[str | None]()
    thread = threading.Thread(target=lambda: found.append(run(f"echo $$ > {pids}; sleep 600", stop=stop)))
    thread.start()
    eventually(lambda: pids_in(pids))
    stop.set()
    thread.join(30)
    assert found == ["the process that delivers was stopped"]
    assert not any(map(alive, pids_in(pids)))


def test_a_command_dies_with_a_process_that_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = f"from tests.jobs.test_notify_command import run; run('echo $$ > {pids}; sleep 600')"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    try:
        eventually(lambda: pids_in(pids), within_s=30)
    finally:
        process.kill()
        process.wait()
    eventually(lambda: not any(map(alive, pids_in(pids))))
