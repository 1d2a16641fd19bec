"""Subject of a log line: the job that it concerns, for machines, which should not have to parse the text.

Invariant: every line that is logged in the thread of a run concerns its job, whether it comes from the run, its
worker or a library. Code that logs about a job elsewhere names it with ``about``.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from logging import Logger
from typing import Any, Literal

from msgspec import Struct

from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.text.units import counted

#: Attribute of the standard library's log records that holds the subject.
_ATTRIBUTE = "subject"


class RunReports(Struct, frozen=True, kw_only=True):
    """What a worker reports of its runs: the ended runs that it logs, and whether it shows the output of running jobs
    on its own streams."""

    logged: Literal["none", "failures", "all"] = "failures"
    shows_output: bool = False


DEFAULT_REPORTS = RunReports()


class Subject(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Job of a log line, as far as it is known. ``submission`` is the submission for which its run began. ``trace_id``
    is the trace that the submitter has sent, or that the run is recorded in.
    """

    app: str | None = None
    key: str | None = None
    round: int | None = None
    claim: int | None = None
    submission: str | None = None
    trace_id: str | None = None


_CURRENT: ContextVar[Subject | None] = ContextVar("subject", default=None)


class Speaking:
    """Context manager: log lines of this thread concern this job, or none, until the end of the block.

    It is a class because each run uses it, and a generator would take five times as long.
    """

    def __init__(self, subject: Subject | None) -> None:
        self._subject = subject

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self._subject)

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)


def spoken_of() -> Subject | None:
    """Return the job of this thread."""
    return _CURRENT.get()


def about(subject: Subject | None) -> Mapping[str, Any]:
    """Return the ``extra`` argument of a log line about a job."""
    return {_ATTRIBUTE: subject}


def of_name(name: JobName) -> Subject:
    return Subject(app=name.app, key=name.key)


def of_claim(claim: Claim, subject: Subject | None) -> Subject:
    """Return the known subject of a claim; at least its number."""
    return subject or Subject(claim=claim.number)


def subject_of(record: object) -> Subject | None:
    """Return the job of a log record: its own subject, or else the job of this thread."""
    return getattr(record, _ATTRIBUTE, None) or spoken_of()


#: Maximum number of jobs that one log line names.
NAMED_MAX = 10


def first_names(names: Sequence[str], number: int = 0) -> str:
    """Return the first of these names for a log line, and how many more there are. ``number`` is the number of all, if
    the caller has only some names."""
    shown = names[:NAMED_MAX]
    more = max(number, len(names)) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more and shown else "")


def some_names(subjects: Iterable[Subject]) -> str:
    """Return the names of the first jobs for a log line, and how many more there are."""
    return first_names(_names(subjects))


def log_about_jobs(log: Logger, subjects: Sequence[Subject], of_one: str, of_several: str) -> None:
    """Log a warning about these jobs, in one line, or none if there is none. The texts have a ``%s`` for the names.

    The line of a single job has its fields. A line about several has their names as ``jobs``.
    """
    if len(subjects) == 1:
        log.warning(of_one, some_names(subjects) or "a job", extra=about(subjects[0]))
    elif subjects:
        names = _names(subjects)
        log.warning(of_several, first_names(names) or counted(len(subjects), "job"), extra={"jobs": names})


def _names(subjects: Iterable[Subject]) -> list[str]:
    """Return the names of jobs, each once: a worker may hold two claims of one job."""
    return [*dict.fromkeys(f"{each.app}/{each.key}" for each in subjects if each.app is not None)]
