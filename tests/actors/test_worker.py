"""``python -m actors.worker``: error texts and exit codes if it cannot work."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AWAY = "amqp://guest:secret@127.0.0.1:1"
NOBODY = "postgresql://nobody@127.0.0.1:1/none"


def start(folder: Path, *arguments: str, **words: str) -> subprocess.Popen[str]:
    usual = {
        "SLUICE_APPS": "sluice.jobs.examples.shops",
        "SLUICE_HOME": str(folder),
        "SLUICE_STARTUP_TIMEOUT": "100ms",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "actors.worker", *arguments],
        cwd=ROOT,
        env=os.environ | usual | words,
        stderr=subprocess.PIPE,
        text=True,
    )


def worker(folder: Path, *arguments: str, **words: str) -> tuple[int, str]:
    """Run a worker to its end, and return its exit code and its log."""
    with start(folder, *arguments, **words) as process:
        said = process.communicate(timeout=60)[1]
    return process.returncode, said


@pytest.mark.parametrize(
    ("code", "says", "arguments", "words"),
    [
        (
            3,
            "ledger does not answer",
            (),
            {"SLUICE_LEDGER_URL": NOBODY, "SLUICE_BROKER_URL": "amqp://127.0.0.1"},
        ),
        (
            2,
            "cannot be read",
            (),
            {"SLUICE_LEDGER_URL": "postgresql://[", "SLUICE_BROKER_URL": "amqp://127.0.0.1"},
        ),
        (2, "broker that it shares", (), {"SLUICE_LEDGER_URL": NOBODY, "SLUICE_BROKER_URL": "memory://"}),
        (2, "no queue nosuch", ("--queues", "fetch,nosuch"), {}),
        (2, "SLUICE_LEASE", (), {"SLUICE_LEASE": "soon"}),
        (2, "nosuch.json", (), {"SLUICE_APPS": "nosuch.json"}),
        (2, "--threads", ("--threads", "0"), {}),
    ],
)
def test_a_worker_that_cannot_work_reports_why_and_exits(
    tmp_path: Path, code: int, says: str, arguments: tuple[str, ...], words: dict[str, str]
) -> None:
    exit_code, said = worker(tmp_path, *arguments, **words)
    assert says in said
    assert "Traceback" not in said
    assert exit_code == code


@pytest.mark.parametrize(
    "words",
    [
        {"SLUICE_LEDGER_URL": NOBODY, "SLUICE_BROKER_URL": "amqp://127.0.0.1"},
        {"SLUICE_LEASE": "soon"},
        {"SLUICE_BROKER_URL": "memory://"},
    ],
    ids=["no ledger", "a bad setting", "a broker that is not shared"],
)
def test_the_last_words_of_a_worker_are_json_if_its_log_is(tmp_path: Path, words: dict[str, str]) -> None:
    _, said = worker(tmp_path, SLUICE_LOG="json", **words)
    last = [json.loads(line) for line in said.splitlines()][-1]
    assert (last["level"], last["logger"]) == ("error", "sluice.worker")
    assert last["message"]
    assert last["advice"]


def test_a_worker_for_all_apps_needs_at_least_one_app(tmp_path: Path) -> None:
    (tmp_path / "apps.json").write_text("{}")
    words = {
        "SLUICE_APPS": str(tmp_path / "apps.json"),
        "SLUICE_LEDGER_URL": NOBODY,
        "SLUICE_BROKER_URL": AWAY,
    }
    exit_code, said = worker(tmp_path, "--queues", "*", **words)
    assert "There is no app with a queue to serve." in said
    assert exit_code == 2


def test_a_worker_reports_an_unreachable_broker_at_once_and_exits_later(
    tmp_path: Path, embedded_url: str
) -> None:
    exit_code, said = worker(tmp_path, SLUICE_LEDGER_URL=embedded_url, SLUICE_BROKER_URL=AWAY)
    assert exit_code == 3
    first, *_, last = said.splitlines()
    assert "waiting up to 0.1 s" in first
    assert "RabbitMQ cannot be used" in first
    assert "correct the address" in last
    assert "127.0.0.1:1" in said
    assert "secret" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(("told", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_worker_that_waits_for_its_broker_exits_on_a_signal(
    told: signal.Signals, code: int, tmp_path: Path, embedded_url: str
) -> None:
    words = {"SLUICE_LEDGER_URL": embedded_url, "SLUICE_BROKER_URL": AWAY, "SLUICE_STARTUP_TIMEOUT": "1h"}
    with start(tmp_path, **words) as process:
        assert process.stderr is not None
        assert "waiting up to 3600 s" in process.stderr.readline()
        process.send_signal(told)
        assert process.stderr.read() == ""
        assert process.wait(timeout=30) == code
