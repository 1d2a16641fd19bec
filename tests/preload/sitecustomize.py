"""Loaded by every Python whose clock is wrong, before anything else: it sleeps in another way.

Python sleeps until a moment of the clock that only goes forward, and libfaketime 0.9.10, told to leave that clock
alone, shifts the moment all the same and refuses it. To wait for no file for so long is the same sleep.
"""

import select
import time


def sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = sleep
