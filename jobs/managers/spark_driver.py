"""Program in Spark's driver, started by ``spark-submit``: it runs the app's ``main`` to its end.

The submitted file contains the whole errand, so no other file must reach the driver's machine. Spark already has its
properties from ``spark-submit``, so they are not set again.
"""

import os
import sys
from pathlib import Path

import msgspec

from sluice.jobs.catalogue.sources.functions import resolve_function
from sluice.jobs.managers.local_process import PROGRESS
from sluice.jobs.model.job import Ending, Job, Outcome
from sluice.jobs.runners.function.call import account
from sluice.jobs.runners.function.child_protocol import Errand
from sluice.jobs.runners.function.spark_session import missing_spark, perform_on_spark
from sluice.jobs.runners.output import job_log
from sluice.jobs.runners.run_outcome import failed


def script(errand: Errand) -> str:
    """Return the text of the file to submit."""
    text = msgspec.json.encode(errand).decode()
    return f"from sluice.jobs.managers.spark_driver import main\n\nmain({text!r})\n"


def main(text: str) -> None:
    outcome = _run(msgspec.json.decode(text, type=Errand))
    if outcome.error:
        sys.stderr.write(f"{outcome.error}\n")
    sys.exit(0 if outcome.ending is Ending.DONE else 1)


def _run(errand: Errand) -> Outcome:
    lacking = missing_spark()
    if lacking or errand.spark is None:
        return failed(lacking or "This job has no Spark program to run.")
    try:
        function = resolve_function(errand.function_path)
    except BaseException as error:
        # Importing the user's module may raise anything, like the function itself.
        return failed(account(error))
    job = Job(
        errand.claimed,
        report=_report,
        log=job_log(errand.claimed.name, write=sys.stdout.write, tell=lambda *_: None),
        cancelled=lambda: False,
    )
    return perform_on_spark(errand.spark, function, job)


def _report(done: int, total: int | None) -> None:
    """Write the progress to the file that the manager of the submission reads. On another machine it is not written."""
    file = os.environ.get(PROGRESS)
    if file and Path(file).parent.is_dir():
        Path(file).write_text(f"{done}\n" if total is None else f"{done} {total}\n")
