"""Which job a line of the log is about: for machines, which should not have to find that in the text.

What holds: whatever is said in the thread of a run, by the run itself, by those who see to it or by a library that it
uses, is about its job. Who speaks of a job elsewhere says which it is, by ``about``.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from sluice.jobs.ref import Claim, JobName

#: By this name a record of the standard library's logging carries it.
_ATTRIBUTE = "subject"


class Subject(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As much as whoever speaks knows of the job. ``submission`` is the one that its run began for."""

    app: str | None = None
    key: str | None = None
    round: int | None = None
    claim: int | None = None
    submission: str | None = None


_CURRENT: ContextVar[Subject | None] = ContextVar("subject", default=None)


class Speaking:
    """What is said in this thread until the end of the block is about this job. Each run goes through it: it is no
    generator, which would cost it five times as much."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self._subject)

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)


def spoken_of() -> Subject | None:
    """The job that this thread is at."""
    return _CURRENT.get()


def about(subject: Subject | None) -> Mapping[str, Any]:
    """For ``extra`` of a line that is said of a job."""
    return {_ATTRIBUTE: subject}


def of_name(name: JobName) -> Subject:
    return Subject(app=name.app, key=name.key)


def of_claim(claim: Claim, subject: Subject | None) -> Subject:
    """What is known of a claim: its number at least."""
    return subject or Subject(claim=claim.number)


def subject_of(record: object) -> Subject | None:
    """What a record of the log is about: as it says itself, or the job that its thread is at."""
    return getattr(record, _ATTRIBUTE, None) or spoken_of()
