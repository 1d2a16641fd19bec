"""A long-running service, as processes of this machine, and an app that needs it to run.

Files beside ``EFFECTS`` control it. While ``before`` exists, ``run`` waits before it starts a process; while ``after``
exists, it waits after that. While ``mute`` exists, each poll raises an error.
"""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from sluice import app
from sluice.jobs.model.job import Job
from tests.live.marked import marking, processes

EFFECTS = Path(os.environ["EFFECTS"])


def _note(job: Job) -> None:
    with EFFECTS.open("a") as effects:
        effects.write(f"{job.app} {job.key} {job.claim} {os.getpid()}\n")


def _wait_while(word: str) -> None:
    while EFFECTS.with_name(word).exists():
        time.sleep(0.02)


class Stream:
    poll_s = 0.2

    def run(self, job: Job) -> dict[str, Any]:
        _note(job)
        _wait_while("before")
        alive = processes(job.token)
        if not alive:
            environment = os.environ | marking(job.token)
            alive = [subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True).pid]
        _wait_while("after")
        return {"pid": alive[0], "token": job.token}

    def check(self, handle: dict[str, Any]) -> str:
        if EFFECTS.with_name("mute").exists():
            raise ConnectionError("no answer")
        return "running" if handle["pid"] in processes(handle["token"]) else "failed"

    def cancel(self, handle: dict[str, Any]) -> None:
        for pid in processes(handle["token"]):
            os.kill(pid, signal.SIGKILL)


stream = app(name="stream", job_id="{x}", is_long_running=True, max_losses=1000)(Stream)


@app(job_id="{x}", depends_on={"app_name": ["stream"]}, max_losses=1000)
def reader(job: Job) -> None:
    _note(job)
