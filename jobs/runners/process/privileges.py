"""Processes that cannot get more rights than the worker: ``sudo`` and set-user-ID programs grant them none."""

import ctypes
import errno
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

_PR_SET_NO_NEW_PRIVS = 38


def unprivileged(start: Callable[[], T]) -> T:
    """Call ``start`` in a thread that has given up new privileges for good (Linux; elsewhere it is just called).

    On Linux that is a property of a thread, which is inherited and never taken back. So a separate thread makes the
    call and ends; functions that this worker runs keep their rights. In the new process, between fork and exec, our own
    code might wait indefinitely for another thread's lock. OSError if no thread can be started. An interrupt of the
    caller is raised after ``start`` has returned.
    """
    if sys.platform != "linux":
        return start()

    done: Future[T] = Future()

    def humbly() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "privileges cannot be dropped")
            done.set_result(start())
        except BaseException as error:
            # The caller receives it through the future. A thread has no caller to raise it to.
            done.set_exception(error)

    thread = threading.Thread(target=humbly, name="sluice-start")
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from None
    try:
        thread.join()
    except BaseException:
        thread.join()
        raise
    return done.result()
