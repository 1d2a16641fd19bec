"""Programs as jobs of a real worker. When they exceed their timeout, all processes that they started end."""

import re
import sys
import uuid
from pathlib import Path

import psutil
import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import fleet, wait_until

JOBS = 20
THREADS = 10
#: Timeout of a program. It is many times longer than all of its processes take to start.
TIMEOUT = "8s"
KINDS = {"child", "session", "daemon", "itself"}
#: Each process sleeps under a name of its own. One stays with its parent, one leaves the session, one loses its
#: parents.
RUN = """#!/bin/bash
bash -c 'exec -a "$0" sleep 600' "$1-child" &
setsid bash -c 'exec -a "$0" sleep 600' "$1-session" &
( setsid bash -c '( exec -a "$0" sleep 600 & )' "$1-daemon" >/dev/null 2>&1 & )
while [ "$(pgrep -fc "^$1-")" -lt 3 ]; do sleep 0.02; done
echo begun
exec -a "$1-itself" sleep 600
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")


@pytest.mark.timeout(240)
def test_programs_that_exceed_their_timeout_leave_no_process(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path
) -> None:
    mark = f"sluice-{uuid.uuid4().hex[:12]}"
    broker = connect(rabbitmq)
    client = Client(ledger, broker.publish)
    words = {"SLUICE_PROGRAMS_DIR": str(folder / "programs")}
    apps = str(_apps(folder, mark))
    with fleet(
        1, folder, ledger=live_ledger_url, broker=rabbitmq, apps=apps, threads=THREADS, **words
    ) as one:
        keys = [str(number) for number in range(JOBS)]
        client.submit(Submission(app="scatter", keys=tuple(keys)))
        seen: set[str] = set()
        wait_until(
            lambda: len(_ended(ledger)) == JOBS,
            within_s=180,
            meanwhile=lambda: seen.update(_bearing(mark)),
            explain=lambda: f"{_ended(ledger)}\n{one.log()}",
        )
        wait_until(lambda: not _bearing(mark), within_s=20, explain=lambda: str(_bearing(mark)))
        assert one.terminate() == [0]
        assert "Traceback" not in one.log()
    broker.close()
    for key in keys:
        report = client.job("scatter", key)
        assert report is not None
        assert (report.state, report.round, report.timeouts) == (State.TIMED_OUT, 0, 1)
        assert "0:timed_out" in report.record
    # All kinds of processes existed before they were ended.
    assert set(re.findall(rf"{mark}-\d+-(\w+)", " ".join(seen))) >= KINDS
    assert ledger.transact(breaches) == []


def _apps(folder: Path, mark: str) -> Path:
    script = folder / "scatter" / "run.sh"
    script.parent.mkdir()
    script.write_text(RUN)
    script.chmod(0o755)
    apps = folder / "apps.yaml"
    apps.write_text(f"""
scatter:
  job_id: "{{n}}"
  source: "file:{script}"
  input: "{mark}-{{n}}"
  timeout: {TIMEOUT}
  max_timeouts: 0
""")
    return apps


def _ended(ledger: Ledger) -> list[str]:
    return ledger.transact(
        lambda tx: tx.column(f"SELECT key FROM job WHERE state IN ('{State.TIMED_OUT}', '{State.FAILED}')")
    )


def _bearing(mark: str) -> list[str]:
    """Return the command lines of all living processes that contain the mark."""
    names = [
        " ".join(each.info["cmdline"] or [])
        for each in psutil.process_iter(["cmdline", "status"])
        if each.info["status"] != psutil.STATUS_ZOMBIE
    ]
    return [name for name in names if mark in name]
