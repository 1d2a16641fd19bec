"""Something that may hang, waited for no longer than is said."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

from sluice.jobs.errors import SluiceError

T = TypeVar("T")


class TookTooLong(SluiceError):
    """It has not ended in time, and is left to itself."""

    exit_code = 3


def within(limit_s: float, run: Callable[[], T]) -> T:
    """What it returns, or raises; TookTooLong where that is not to be had in time. What hangs ends with the process."""
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
            advice="See what it waits for, or whether it is there.",
        )
    return results[0]
