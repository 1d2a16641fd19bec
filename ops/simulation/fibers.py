"""Code that takes time, run unchanged. While it pauses, other events happen, and never at the same time as the code.

Each run has a thread, but no concurrency: the caller of ``go`` waits until the code pauses again. So no two things
happen at the same time, and a seed decides the order.
"""

from collections.abc import Callable
from threading import Semaphore, Thread


class FiberDied(BaseException):
    """Raised in the code of a dead process, so that it does nothing more."""


class Fiber:
    """Code in a thread. ``go`` and ``kill`` are called from outside, ``pauses``, ``lives`` and ``dies`` from within."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.is_over = False
        self._work = work
        self._thread = Thread(target=self._run, daemon=True)
        self._within, self._without = Semaphore(0), Semaphore(0)
        self._has_begun = False
        self._is_dead = False
        self._error: BaseException | None = None

    def go(self) -> None:
        """Continue until the code pauses or ends. Raise the exception that ended it."""
        if self._has_begun:
            self._within.release()
        else:
            self._has_begun = True
            self._thread.start()
        self._without.acquire()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def kill(self) -> None:
        """End the code where it pauses. Users' code may catch ``FiberDied`` as an error of its own; its next action
        raises it again.
        """
        self._is_dead = True
        if self._has_begun and not self.is_over:
            self.go()

    def pauses(self) -> None:
        """Pause until the next ``go``."""
        self.lives()
        self._without.release()
        self._within.acquire()
        self.lives()

    def lives(self) -> None:
        if self._is_dead:
            raise FiberDied

    def dies(self, error: BaseException) -> None:
        """Mark the code as dead because of this exception. ``go`` raises it in the end, even if it is caught here."""
        self._is_dead, self._error = True, error

    def _run(self) -> None:
        try:
            self._work()
        except FiberDied:
            pass
        except BaseException as error:
            self._error = error
        self.is_over = True
        self._without.release()
