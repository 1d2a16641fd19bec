"""What a step of a saga has raised, or answered, in the words that its journal keeps."""

from sluice.jobs.runners.call import traced
from sluice.jobs.runners.excerpt import legible
from sluice.jobs.sagas.entry import Failure

#: Types of these are called by their bare names; others have their module before them, as in a traceback.
_WELL_KNOWN = ("builtins", "__main__", "sluice.jobs.errors", "sluice.jobs.sagas.answers")


def blame(error: BaseException) -> Failure:
    """An answer that was returned has no traceback."""
    kind, told = type(error), traced(error)
    module = "" if kind.__module__ in _WELL_KNOWN else f"{kind.__module__}."
    return Failure(
        type=f"{module}{kind.__qualname__}",
        message=legible(str(told)),
        traceback=legible("".join(told.format())) if error.__traceback__ else "",
    )
