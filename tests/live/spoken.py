"""Apps that log in each possible way."""

import logging
from pathlib import Path

from sluice import app


@app(job_id="{n}", identifiers={"n": "int"}, max_fails=1)
def thread(job):
    job.log.info("a word of its own\nand another line")
    logging.getLogger("acme.shop").warning("a library speaks", extra={"customer": 7})
    if job.round == 0:
        raise ValueError("not yet")


@app(job_id="{n}", identifiers={"n": "int"}, isolate=True, depends_on={"app_name": ["thread"]})
def process(job):
    job.log.warning("from another process")


@app(job_id="{n}", identifiers={"n": "int"}, max_losses=5)
def stopped(job):
    Path(job.kwargs["began"]).write_text(str(job.claim))
    while not job.cancelled:
        pass
