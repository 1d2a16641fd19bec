"""Code that takes time, run as it is: while it stands still, others have their turn, and never beside it.

A strand has a thread, and that is all that it has of one: whoever lets it go on waits until it stands still again. So
nothing happens at the same time as anything else, and a seed decides the order.
"""

from collections.abc import Callable
from threading import Semaphore, Thread


class Died(BaseException):
    """The process that was in the middle of this is dead, and nothing that it wanted to do is done."""


class Strand:
    """``go`` is called from without, ``pauses``, ``lives`` and ``dies`` from within."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.is_over = False
        self._work = work
        self._thread = Thread(target=self._run, daemon=True)
        self._within, self._without = Semaphore(0), Semaphore(0)
        self._has_begun = False
        self._is_dead = False
        self._error: BaseException | None = None

    def go(self) -> None:
        """Let it go on until it stands still or is over; what it could not bear comes out."""
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
        """From where it stands it does nothing more. Users' code may take the news for an error of its own; it hears
        it again with whatever it does next."""
        self._is_dead = True
        if self._has_begun and not self.is_over:
            self.go()

    def pauses(self) -> None:
        """Stand still until somebody lets it go on."""
        self.lives()
        self._without.release()
        self._within.acquire()
        self.lives()

    def lives(self) -> None:
        if self._is_dead:
            raise Died

    def dies(self, error: BaseException) -> None:
        """Of this, which comes out in the end, whoever catches it here."""
        self._is_dead, self._error = True, error

    def _run(self) -> None:
        try:
            self._work()
        except Died:
            pass
        except BaseException as error:
            self._error = error
        self.is_over = True
        self._without.release()
