"""Types of failures without an exception, as they are stored in a journal."""

from typing import Final

#: The flight was aborted: cancelled, expired, or not requested any more.
CALLED_OFF: Final = "CalledOff"
#: The flight has exceeded its timeout.
TIMED_OUT: Final = "TimedOut"
#: The awaited event has not arrived in time.
WAIT_TIMED_OUT: Final = "WaitTimedOut"
#: The steps that are built now do not fit the journal.
UNBUILDABLE: Final = "Unbuildable"
