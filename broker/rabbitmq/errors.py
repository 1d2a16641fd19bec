"""Exceptions by which pika reports a lost or refused connection, and their text."""

from pika.adapters.utils.connection_workflow import AMQPConnectorException
from pika.exceptions import AMQPError

from sluice.broker.log import one_line

#: pika raises AssertionError if a connection dies in the middle of a call.
LOSSES = (AMQPError, AMQPConnectorException, OSError, AssertionError)

_WRAPPINGS_MAX = 10


def reason(error: BaseException) -> str:
    """Return the text of the innermost error: pika wraps a refused connection three times, and the outer errors have no
    text."""
    for _ in range(_WRAPPINGS_MAX):
        inner = _inside(error)
        if inner is None:
            break
        error = inner
    return one_line(error).rstrip(".")


def _inside(error: BaseException) -> BaseException | None:
    several = getattr(error, "exceptions", None)
    candidates = [several[-1] if several else None, getattr(error, "exception", None), *error.args]
    return next((one for one in candidates if isinstance(one, BaseException)), None)
