"""A program in another language that submits by publishing a message: ``docs/submit.mjs``, unchanged."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.live.fleet import ROOT, fleet, wait_until

KEY = "node:" + "k" * 32


@pytest.mark.timeout(480)
@pytest.mark.parametrize("key", [None, KEY], ids=["unsigned", "signed"])
def test_a_job_that_a_node_program_submits_is_run(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path, key: str | None
) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("install Node.js and npm to run the Node program of docs/")
    program = folder / "node" / "submit.mjs"
    program.parent.mkdir()
    shutil.copy(ROOT / "docs" / "submit.mjs", program)
    _install(npm, program.parent)
    words = {"SLUICE_MESSAGE_KEYS": key} if key else {}
    with fleet(1, folder, ledger=live_ledger_url, broker=rabbitmq, **words) as workers:
        wait_until(lambda: "ready for action" in workers.log(), within_s=60, explain=workers.log)
        environment = {"AMQP_URL": rabbitmq, "PATH": str(Path(node).parent)}
        environment |= {"MESSAGE_KEY": key} if key else {}
        subprocess.run([node, str(program), "third", "7"], check=True, timeout=30, env=environment)
        wait_until(lambda: _succeeded(ledger) == 3, within_s=60, explain=workers.log)


def _install(npm: str, folder: Path) -> None:
    """Install amqplib. Try up to three times, because the registry may be unavailable for a moment."""
    words = [
        npm,
        "install",
        "--loglevel=error",
        "--no-fund",
        "--no-audit",
        "--prefix",
        str(folder),
        "amqplib",
    ]
    for last in (False, False, True):
        if subprocess.run(words, check=last, timeout=100).returncode == 0:
            return


def _succeeded(ledger: Ledger) -> int:
    return ledger.transact(
        lambda tx: tx.column(f"SELECT count(*) FROM job WHERE state = '{State.SUCCEEDED}'")
    )[0]
