"""The parts of an answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from jobs.ref import JobName
from jobs.states import State


class WaitsFor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``kind`` is parent, time, worker, lease, planner, groomer, submission or event. A parent is named."""

    kind: str
    what: str
    since: datetime | None = None
    app: str | None = None
    key: str | None = None
    state: State | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """``state`` is None for a job that the ledger has never heard of."""

    app: str
    key: str
    state: State | None
    because: str
    since: datetime | None = None
    waits_for: tuple[WaitsFor, ...] = ()
    remedy: str = ""


class Reason(NamedTuple):
    """What follows a job's name in the answer, what it waits for, and what would help."""

    because: str
    waits_for: Sequence[WaitsFor] = ()
    remedy: str = ""


def command(words: str, name: JobName) -> str:
    """A command to be typed as it stands."""
    return f"`sluice {words} {name.app} {name.key}`"
