"""The parts of an answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from jobs.ref import JobName
from jobs.states import State
from ops.words import command


class WaitsFor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``kind`` is parent, time, worker, lease, planner, groomer, submission or event; or cause, of what has ended.
    Parents and causes are named."""

    kind: str
    what: str
    since: datetime | None = None
    app: str | None = None
    key: str | None = None
    state: State | None = None


class Remedy(Struct, frozen=True):
    """A command to be typed as it stands, and what it does."""

    command: str
    effect: str


class Answer(Struct, frozen=True, kw_only=True):
    """``state`` is None for a job that the ledger has never heard of."""

    app: str
    key: str
    state: State | None
    because: str
    since: datetime | None = None
    waits_for: tuple[WaitsFor, ...] = ()
    remedies: tuple[Remedy, ...] = ()


class Reason(NamedTuple):
    """What follows a job's name in the answer, what it waits for, and what would help."""

    because: str
    waits_for: Sequence[WaitsFor] = ()
    remedies: Sequence[Remedy] = ()


def remedy(words: str, name: JobName, effect: str) -> Remedy:
    """A command about one job."""
    return Remedy(command(words, name), effect)
