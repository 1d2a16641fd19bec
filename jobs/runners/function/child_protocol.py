"""Messages between a worker and the child process of an isolated function: JSON, one event per line."""

import os
from collections.abc import Mapping

from msgspec import Raw, Struct

from sluice.jobs.expansions import ExpansionRequest
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
    has_answers: bool = False
    spark: Spark | None = None
    retried: RetriedErrors = RetriedErrors()
    hooks: tuple[str, ...] = ()


class ChildProgress(Struct, frozen=True, forbid_unknown_fields=True, tag="progress"):
    done: int
    total: int | None


class LogLine(Struct, frozen=True, forbid_unknown_fields=True, tag="said"):
    """Line for the worker's log. The child has also printed it, at its position in the output."""

    level: int
    text: str


class Acknowledged(Struct, frozen=True, forbid_unknown_fields=True, tag="acknowledged"):
    partition: str


class SuccessRecorded(Struct, frozen=True, forbid_unknown_fields=True, tag="success recorded"):
    """The function has recorded the success of its job in this transaction of its own, which is not committed yet."""

    transaction: int


class ResultWanted(Struct, frozen=True, forbid_unknown_fields=True, tag="result wanted"):
    """Question for the result of one job. The child waits for the answer."""

    app: str
    key: str | None
    identifiers: Mapping[str, str]


class ResultsWanted(Struct, frozen=True, forbid_unknown_fields=True, tag="results wanted"):
    """Question for the results of all jobs of an app that the job needs. The child waits for the answer."""

    app: str


class ExpansionWanted(Struct, frozen=True, forbid_unknown_fields=True, tag="expansion wanted"):
    """Request to add jobs. The child waits for the answer, the expansion as JSON."""

    request: ExpansionRequest


class ResultAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """Answer to a question: the results as JSON, by key, or an error. The result of one job has an empty key, and so
    has an expansion.

    The worker writes the answer into the file of the errand, from its beginning. Then it writes a line with the length
    of the answer into the pipe for answers.
    """

    results: Mapping[str, str | None] = {}
    error: str | None = None
    advice: str = ""


class FunctionEnded(Struct, frozen=True, forbid_unknown_fields=True, tag="ended"):
    """Last event. A process that exits without it has not reached the end of its function. ``result`` is null if the
    function returned none."""

    ending: Ending
    error: str | None
    final: bool = False
    retry_after_s: float | None = None
    result: Raw = Raw(b"null")


Event = (
    ChildProgress
    | LogLine
    | Acknowledged
    | SuccessRecorded
    | ResultWanted
    | ResultsWanted
    | ExpansionWanted
    | FunctionEnded
)


def write_at_start(descriptor: int, content: bytes) -> None:
    """Write the whole content at the beginning of a file, whose position does not move."""
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, content[written:], written)


def read_at_start(descriptor: int, length: int) -> bytes:
    """Read this many bytes from the beginning of a file, whose position does not move."""
    content = bytearray()
    while len(content) < length and (chunk := os.pread(descriptor, length - len(content), len(content))):
        content += chunk
    return bytes(content)
