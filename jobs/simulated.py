"""Simulated faults and simulated jobs, for users' tests of their pipelines."""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from sluice.jobs.model.job import Assignment


class Faults(Struct, frozen=True, kw_only=True):
    """Faults of a simulation and their frequency. Probabilities are per occasion; all zero is a perfect network.

    ``lose`` and ``double`` apply to messages, and ``delay_s_max`` is the longest delay of a message. A process may
    ``crash_before_commit`` or ``crash_after_commit``. If the answer to a commit is lost, it repeats the commit
    (``repeat_commit``). Within a saga it may ``crash_between`` any two actions. At random, on average every
    ``…_every_s`` seconds, a worker is killed, is frozen for a while and then continues, or is requested to stop.
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


#: No faults.
NO_FAULTS = Faults()


class Took(Struct, frozen=True):
    """Simulated run of a job: its duration, its error if it failed, and its result, if it has one.

    With ``real`` the job's own function or command runs at the end of that time, and its outcome is the run's
    outcome.
    """

    seconds: float
    error: str | None = None
    result: object = None
    real: bool = False


#: Simulation of an app's jobs: a duration in seconds until success, a ``Took``, or a function that returns one for
#: each job.
Doing: TypeAlias = float | Took | Callable[[Assignment], float | Took]
