"""A worker and the autoscaler that get every secret by a file. No environment of theirs or of a job holds a secret."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.broker.signing import SECRET_LENGTH_MIN, parse_keys
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.live.fleet import ROOT, wait_until

BROKER = "canarybroker7b3f9d"
SIGNING = "canarysigning7b3f9d".ljust(SECRET_LENGTH_MIN, "5")
COMMANDS = {
    "worker": ["actors.worker", "--threads", "2"],
    "autoscaler": [
        *("sluice.ops.cli.main", "autoscale", "--threads", "2", "--every", "500ms"),
        *("--queue", "planner,groomer,scheduler=1..1", "--queue", "command,function=1..1"),
    ],
}
_SHOWN = """
import os, time
from pathlib import Path

def shown():
    Path("function.tmp").write_text(str(dict(os.environ)))
    Path("function.tmp").rename("function.env")
    while not Path("go").exists():
        time.sleep(0.05)
"""
_APPS = {
    "command": {
        "job_id": "{n}",
        "bash_cmd": "env >command.tmp; mv command.tmp command.env; while ! [ -e go ]; do sleep 0.05; done",
    },
    "function": {"job_id": "{n}", "function": "shown.py:shown", "isolate": True},
}


@pytest.fixture
def files(folder: Path, live_ledger_url: str, redis: str) -> dict[str, str]:
    """Return the settings that name a file. Nothing else in the environment is secret."""
    texts = {
        "ledger-url": live_ledger_url,
        "broker-url": redis.replace("redis://", f"redis://default:{BROKER}@"),
        "message-keys": f"now:{SIGNING}",
    }
    for name, text in texts.items():
        (folder / name).write_text(f"{text}\n")
    return {f"SLUICE_{name.upper().replace('-', '_')}_FILE": name for name in texts}


@pytest.fixture(params=COMMANDS)
def process(
    request: pytest.FixtureRequest, folder: Path, files: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "apps.json").write_text(json.dumps(_APPS))
    (folder / "shown.py").write_text(_SHOWN)
    outer = {name: text for name, text in os.environ.items() if not name.startswith("SLUICE_")}
    words = {"PYTHONPATH": str(ROOT), "SLUICE_APPS": "apps.json", "SLUICE_TICK": "200ms"}
    with (folder / "log").open("w") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", *COMMANDS[request.param]],
            cwd=folder,
            env=outer | words | files,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield started
    finally:
        below = psutil.Process(started.pid).children(recursive=True) if started.poll() is None else []
        started.kill()
        for each in below:
            if each.is_running():
                each.kill()
        psutil.wait_procs(below, timeout=20)
        started.wait()


@pytest.mark.timeout(180)
def test_no_environment_of_a_worker_or_of_a_job_holds_a_secret(
    process: subprocess.Popen[bytes], ledger: Ledger, folder: Path, redis: str
) -> None:
    secrets = [BROKER, SIGNING, urlsplit(ledger.url).password or ledger.url]
    with closing(connect(redis, keys=parse_keys(f"now:{SIGNING}"))) as broker:
        client = Client(ledger, broker.publish)
        client.submit_many([Submission(app=app, key="1") for app in _APPS])
        own = [folder / f"{app}.env" for app in _APPS]
        wait_until(
            lambda: all(each.exists() for each in own), within_s=60, explain=(folder / "log").read_text
        )

        running = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        environments = {}
        for each in running:
            with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):  # It has just ended.
                environments[f"{each.pid} {each.name()}"] = Path(f"/proc/{each.pid}/environ").read_text()
        assert len(environments) > len(_APPS)
        environments |= {each.name: each.read_text() for each in own}
        assert [name for name, text in environments.items() if any(word in text for word in secrets)] == []

        (folder / "go").touch()
        states = "SELECT DISTINCT state FROM job"
        wait_until(
            lambda: ledger.transact(lambda tx: tx.column(states)) == [State.SUCCEEDED],
            within_s=60,
            explain=(folder / "log").read_text,
        )
