"""The parts of an answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import State
from sluice.ops.words import command


class WaitsFor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``kind`` says what is waited for: parent, landing (of a partition that others bring), time, worker (one on its
    queue), slot (a thread of one), pool (a job that has a slot of its pool), queue (jobs before it), lease, planner,
    groomer, submission, job (that a submission is not planned before the end of), event, definition, pause (a
    submission to be resumed), look (at work elsewhere); root is the job at the upper end of a line that waits, half is
    of a job that was split. Or it says what has happened: lost (an alternative), cause (of an end), refusal (of a
    submission). Jobs are named."""

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
