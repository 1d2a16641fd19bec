"""What goes wrong in a simulation, and what its jobs come to: the nouns of those who test their pipelines."""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from sluice.jobs.job import Assignment


class Faults(Struct, frozen=True, kw_only=True):
    """What goes wrong, and how often. Chances are per occasion; all zero is a network as people imagine it.

    ``lose`` and ``double`` are of messages, and ``delay_s_max`` is how late one may be at the most. A process may
    ``crash_before_commit`` or ``crash_after_commit``, and where the answer to a commit is lost it does the same again
    (``repeat_commit``). Within a saga it may ``crash_between`` any two things that are done. And every so many seconds,
    about, a worker is killed, stands still for a while and goes on as if nothing had been, or is told to stop.
    """

    lose: float = 0.0
    double: float = 0.0
    delay_s_max: float = 0.0
    crash_before_commit: float = 0.0
    crash_after_commit: float = 0.0
    repeat_commit: float = 0.0
    crash_between: float = 0.0
    kill_worker_every_s: float = 0.0
    freeze_worker_every_s: float = 0.0
    stop_worker_every_s: float = 0.0


#: Nothing goes wrong.
NO_FAULTS = Faults()


class Took(Struct, frozen=True):
    """One run of a job took so long, and failed where there is an ``error``. ``real`` has the job's own function, or
    command, run at the end of that time, and what it comes to is what the run came to."""

    seconds: float
    error: str | None = None
    real: bool = False


#: What the jobs of an app do: they take so many seconds and succeed, or what is said, or a function says what for each.
Doing: TypeAlias = float | Took | Callable[[Assignment], float | Took]
