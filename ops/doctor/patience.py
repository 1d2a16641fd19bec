"""Time limit for a call that may hang."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

from sluice.jobs.errors import SluiceError

T = TypeVar("T")


class TookTooLong(SluiceError):
    """Raised when a call has not ended in time. The call is not stopped."""

    exit_code = 3


def within(limit_s: float, run: Callable[[], T]) -> T:
    """Run a function in a thread, and return its result or raise its error. TookTooLong if it has not ended in time. A
    function that hangs ends with the process.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            results.append(run())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=attempt, name="sluice-doctor", daemon=True)
    thread.start()
    thread.join(limit_s)
    if errors:
        raise errors[0]
    if not results:
        raise TookTooLong(
            f"There is no answer within {limit_s:g} s.",
            advice="Check whether it is running, and what it waits for.",
        )
    return results[0]
