"""Processes that can never have more rights than the worker has: no ``sudo``, no set-user-ID program lends them any."""

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
    """Call it where whatever it starts has given up new privileges for good (Linux; elsewhere it is just called).

    On Linux that is a property of a thread, which is inherited and never taken back. So a thread of its own calls, and
    is gone: functions that this worker runs keep what they may. In the new process itself, between fork and exec, no
    code of ours can run without the risk that another thread's lock is held for ever. OSError where no thread can be
    had. Whoever is interrupted meanwhile is so once ``start`` has come to its end.
    """
    if sys.platform != "linux":
        return start()

    done: Future[T] = Future()

    def humbly() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "privileges cannot be given up")
            done.set_result(start())
        except BaseException as error:
            # Whoever called has it instead; a thread has nobody to raise it to.
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
