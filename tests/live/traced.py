"""Traced apps: one fails and is tried again, one loses its worker, one is a command."""

import os
import signal
import sys

from opentelemetry import trace

from sluice import app

DATE = {"date": "date"}


@app(job_id="{date}", identifiers=DATE, max_fails=1)
def fetch(job):
    with trace.get_tracer("acme").start_as_current_span("open the till"):
        if job.round == 0:
            raise ValueError("closed")


@app(job_id="{date}", identifiers=DATE, depends_on={"app_name": ["fetch"]})
def lose(job):
    if job.claim == 1:
        # Spans that have ended are sent. The span of this run is lost with its process.
        trace.get_tracer_provider().force_flush()
        os.kill(os.getpid(), signal.SIGKILL)


@app(job_id="{date}", identifiers=DATE, depends_on={"app_name": ["lose"]}, isolate=True)
def apart(job):
    sys.stdout.write(os.environ["TRACEPARENT"])
