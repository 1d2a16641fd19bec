"""What a worker and the child process of an isolated function tell each other: JSON, one line an event."""

from msgspec import Struct

from sluice.jobs.job import Claimed
from sluice.jobs.outcome import Ending
from sluice.jobs.spark import Spark

#: A longer line is none of ours: texts are cut before they are sent.
LINE_BYTES_MAX = 1024 * 1024


class Errand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the child is to do. ``python_path`` is the PYTHONPATH that user code and its own children see.

    With ``spark`` the function is called in a session of Spark's.
    """

    claimed: Claimed
    function_path: str
    cwd: str | None
    python_path: str | None
    acknowledges: bool
    spark: Spark | None = None


class Progress(Struct, frozen=True, forbid_unknown_fields=True, tag="progress"):
    done: int
    total: int | None


class Said(Struct, frozen=True, forbid_unknown_fields=True, tag="said"):
    """A line for the worker's log. For the output the child has printed it, in its place among the rest."""

    level: int
    text: str


class Acknowledged(Struct, frozen=True, forbid_unknown_fields=True, tag="acknowledged"):
    partition: str


class Ended(Struct, frozen=True, forbid_unknown_fields=True, tag="ended"):
    """The last event. A process that leaves without it has not come to the end of its function."""

    ending: Ending
    error: str | None
    final: bool = False
    retry_after_s: float | None = None


Event = Progress | Said | Acknowledged | Ended
