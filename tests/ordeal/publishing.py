"""Publisher of jobs at a steady pace, as a service that needs its messages accepted.

A call that raises is repeated until one does not. Only then the job counts as accepted.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

BROKER, JOBS, SECONDS, ACCEPTED = "ORDEAL_BROKER", "ORDEAL_JOBS", "ORDEAL_SECONDS", "ORDEAL_ACCEPTED"
CAREFUL = "ORDEAL_CAREFUL"
#: Seconds between two tries of one call.
_AGAIN_S = 0.2


def is_careful() -> bool:
    """Return whether a contender is configured to be as safe as possible. Otherwise it has its defaults."""
    return os.environ.get(CAREFUL) == "yes"


def publish(send: Callable[[int], object], failures: tuple[type[Exception], ...]) -> None:
    """Publish all jobs. ``failures`` are the exceptions that the client raises if it could not send."""
    jobs, seconds = int(os.environ[JOBS]), float(os.environ[SECONDS])
    began = time.monotonic()
    with Path(os.environ[ACCEPTED]).open("a", buffering=1) as accepted:
        for n in range(jobs):
            time.sleep(max(0.0, began + n * seconds / jobs - time.monotonic()))
            while not _sent(send, n, failures):
                time.sleep(_AGAIN_S)
            accepted.write(f"{n}\n")


def _sent(send: Callable[[int], object], n: int, failures: tuple[type[Exception], ...]) -> bool:
    try:
        send(n)
    except failures:
        return False
    return True
