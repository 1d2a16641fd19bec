"""``python -m actors.worker``: what it says, and how it exits, when it cannot work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = "postgresql://nobody@127.0.0.1:1/none"


def worker(folder: Path, *arguments: str, **words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"SLUICE_APPS": "jobs.examples.shops", "SLUICE_HOME": str(folder)} | words
    return subprocess.run(
        [sys.executable, "-m", "actors.worker", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


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
def test_a_worker_that_cannot_work_says_why_and_leaves(
    tmp_path: Path, code: int, says: str, arguments: tuple[str, ...], words: dict[str, str]
) -> None:
    ended = worker(tmp_path, *arguments, **words)
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.returncode == code


def test_a_worker_whose_broker_is_away_says_so_and_leaves(tmp_path: Path, embedded_url: str) -> None:
    broker = "amqp://guest:secret@127.0.0.1:1"
    ended = worker(tmp_path, SLUICE_LEDGER_URL=embedded_url, SLUICE_BROKER_URL=broker)
    assert ended.returncode == 3
    assert "127.0.0.1:1" in ended.stderr
    assert "secret" not in ended.stderr
    assert "Traceback" not in ended.stderr
