"""The types of failures that nothing has raised, as a journal has them."""

from typing import Final

#: Nobody wants the flight any more.
CALLED_OFF: Final = "CalledOff"
#: It is over its timeout.
TIMED_OUT: Final = "TimedOut"
#: What it waited for has not come in time.
WAIT_TIMED_OUT: Final = "WaitTimedOut"
#: What is made of it now does not fit what its journal says.
UNBUILDABLE: Final = "Unbuildable"
