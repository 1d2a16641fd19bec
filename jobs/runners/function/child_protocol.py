"""Messages between a worker and the child process of an isolated function: JSON, one event per line."""

from msgspec import Raw, Struct

from sluice.jobs.model.job import Ending, RunContext
from sluice.jobs.model.results import RESULT_BYTES_MAX
from sluice.jobs.model.spark import Spark
from sluice.jobs.policy.retried_errors import RetriedErrors

#: Maximum length of a line in bytes. We send no longer line: results have a limit, and other texts are cut before they
#: are sent.
LINE_BYTES_MAX = RESULT_BYTES_MAX + 1024 * 1024


class Errand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Task of the child. ``python_path`` is the PYTHONPATH that user code and its own children see.

    With ``spark``, the function is called in a Spark session.
    """

    claimed: RunContext
    function_path: str
    cwd: str | None
    python_path: str | None
    acknowledges: bool
    spark: Spark | None = None
    retried: RetriedErrors = RetriedErrors()


class ChildProgress(Struct, frozen=True, forbid_unknown_fields=True, tag="progress"):
    done: int
    total: int | None


class LogLine(Struct, frozen=True, forbid_unknown_fields=True, tag="said"):
    """Line for the worker's log. The child has also printed it, at its position in the output."""

    level: int
    text: str


class Acknowledged(Struct, frozen=True, forbid_unknown_fields=True, tag="acknowledged"):
    partition: str


class FunctionEnded(Struct, frozen=True, forbid_unknown_fields=True, tag="ended"):
    """Last event. A process that exits without it has not reached the end of its function. ``result`` is null if the
    function returned none."""

    ending: Ending
    error: str | None
    final: bool = False
    retry_after_s: float | None = None
    result: Raw = Raw(b"null")


Event = ChildProgress | LogLine | Acknowledged | FunctionEnded
