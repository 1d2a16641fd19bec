"""Replacement of ``time.sleep`` in every Python with a faked clock. Python loads this module before all others.

Python sleeps until a time of the monotonic clock. libfaketime 0.9.10 shifts that time even if it should not change this
clock, and the sleep fails. A ``select`` without files waits equally long.
"""

import select
import time


def sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = sleep
