"""Failure of a saga's step, from an exception or an answer, as its journal stores it."""

from sluice.jobs.runners.call import traced
from sluice.jobs.runners.excerpt import legible
from sluice.jobs.sagas.entry import Failure

#: Types of these modules are shown by their bare names. Other types have their module in front, as in a traceback.
_WELL_KNOWN = ("builtins", "__main__", "sluice.jobs.errors", "sluice.jobs.sagas.answers")


def blame(error: BaseException) -> Failure:
    """Return the failure of this exception or answer. An answer that was returned has no traceback."""
    kind, told = type(error), traced(error)
    module = "" if kind.__module__ in _WELL_KNOWN else f"{kind.__module__}."
    return Failure(
        type=f"{module}{kind.__qualname__}",
        message=legible(str(told)),
        traceback=legible("".join(told.format())) if error.__traceback__ else "",
    )
