"""Definitions for live tests: jobs that call a server, which may be dead."""

import os
import socket
from pathlib import Path

from sluice import app

RETRIES, PER_S = 100, 1.0
FAILS = 20
PAUSE_S, PAUSE_S_MAX = 2, 8


@app(
    job_id="{x}",
    max_fails=1000,
    breaker={"fails": FAILS, "pause": PAUSE_S, "pause_max": PAUSE_S_MAX},
)
def calls(job):
    _call(job)


@app(
    job_id="{x}",
    max_fails=1000,
    retry={"rule": "fixed", "seconds": 0.1},
    retry_budget={"retries": RETRIES, "per": PER_S},
)
def asks(job):
    _call(job)


def _call(job):
    with Path(os.environ["EFFECTS"]).open("a") as effects:
        effects.write(f"{job.app} {job.key} {job.claim} {os.getpid()}\n")
    with socket.create_connection(("127.0.0.1", int(os.environ["SERVER_PORT"])), timeout=10):
        pass
