"""Reasons to undo a flight, as they are stored.

A ``AbortReason`` is the reason for the undo of a flight in which nothing has failed. The constants are types of
failures without an exception, as a journal stores them.
"""

from enum import StrEnum
from typing import Final


class AbortReason(StrEnum):
    """Abort reason. The flight is undone from its current position."""

    UNWANTED = "no submission requests it any more"
    CANCELLED = "it was cancelled"
    EXPIRED = "its end_before has passed"


#: The flight was aborted: cancelled, expired, or not requested any more.
CALLED_OFF: Final = "CalledOff"
#: The flight has exceeded its timeout.
TIMED_OUT: Final = "TimedOut"
#: The awaited event has not arrived in time.
WAIT_TIMED_OUT: Final = "WaitTimedOut"
#: The steps that are built now do not fit the journal.
UNBUILDABLE: Final = "Unbuildable"
