"""A connection to the ledger that stays open and brings no answers. Two runs of a job never overlap."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.broker.proxy import Proxy
from tests.live.fleet import fleet, wait_until

LEASE = {"SLUICE_LEASE": "6s"}
JOBS = 2
_POSTGRES_PORT = 5432

#: Each run writes a line ten times a second, ignores SIGTERM, and lasts for two leases.
_RUN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
until = time.monotonic() + 12
while (now := time.monotonic()) < until:
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.environ['SLUICE_JOB']} {os.environ['SLUICE_CLAIM']} {now}\\n")
    time.sleep(0.1)
"""


class Runs:
    """Lines that the runs of the app ``long`` have written outside of the ledger."""

    def __init__(self, folder: Path) -> None:
        self._effects = folder / "runs"
        program = folder / "run.py"
        program.write_text(_RUN)
        self.apps = folder / "apps.json"
        command = f"python3 {program} {self._effects}"
        self.apps.write_text(json.dumps({"long": {"job_id": "{x}", "bash_cmd": command}}))

    def spans(self) -> dict[str, dict[int, tuple[float, float]]]:
        """Return the times of the first and the last line, by job and claim."""
        times: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for line in self._effects.read_text().splitlines() if self._effects.exists() else []:
            key, claim, at = line.split()
            times[key][int(claim)].append(float(at))
        return {
            key: {claim: (min(each), max(each)) for claim, each in sorted(of.items())}
            for key, of in times.items()
        }


@pytest.mark.timeout(180)
def test_a_worker_with_a_silent_ledger_ends_its_runs_before_another_begins_them(
    ledger: Ledger, live_ledger_url: str, redis: str, tmp_path: Path
) -> None:
    runs = Runs(tmp_path)
    broker = connect(redis)
    wire = Proxy(live_ledger_url, default_port=_POSTGRES_PORT)
    folders = [tmp_path / name for name in ("silenced", "other")]
    for folder in folders:
        folder.mkdir()
    words = {"broker": redis, "apps": str(runs.apps), **LEASE}
    with fleet(1, folders[0], ledger=wire.url, **words) as silenced:
        Client(ledger, broker.publish).submit_many(
            [Submission(app="long", key=str(key)) for key in range(JOBS)]
        )
        wait_until(lambda: len(runs.spans()) == JOBS, within_s=60, explain=silenced.log)
        with fleet(1, folders[1], ledger=live_ledger_url, **words) as other:
            wait_until(lambda: "ready for action" in other.log(), within_s=60)
            wire.freeze()
            wait_until(
                lambda: all(len(claims) > 1 for claims in runs.spans().values()),
                within_s=60,
                explain=lambda: silenced.log() + other.log(),
            )
            wait_until(lambda: f"{JOBS} runs are stopped" in silenced.log(), within_s=5, explain=silenced.log)
            wire.thaw()
            wait_until(lambda: "the lease is renewed" in silenced.log(), within_s=60, explain=silenced.log)
            wait_until(lambda: _succeeded(ledger) == JOBS, within_s=90, explain=other.log)
    broker.close()
    wire.close()
    for claims in runs.spans().values():
        (_, ended), (began, _) = list(claims.values())[:2]
        assert ended < began, f"two runs overlapped for {ended - began:.1f} s"


def _succeeded(ledger: Ledger) -> int:
    found: int = ledger.transact(
        lambda tx: tx.column("SELECT count(*) FROM job WHERE state = %(state)s", state=State.SUCCEEDED)
    )[0]
    return found
