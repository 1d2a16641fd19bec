"""Adding, some numbers a task: ``python -m jobs.examples.sum 10 100 3`` beside ``sluice --apps jobs.examples.sum up``.

Here is what a task does; the manager, who opens tasks and makes new ones of what they came to, is ``__main__``.
"""

import subprocess
from pathlib import Path

from jobs import app

PROGRAM = Path(__file__).with_name("run.sh")


@app(job_id="{number}", identifiers={"number": "int"}, archive="manual", isolate=True)
def add(input: str) -> None:  # noqa: A002 - it is what a task calls its numbers
    subprocess.run(["sh", PROGRAM, *input.split()], check=True)  # noqa: S607 - whichever shell there is
