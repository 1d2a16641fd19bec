"""Simulated faults and simulated jobs, for users' tests of their pipelines."""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from sluice.jobs.model.job import Assignment


class Faults(Struct, frozen=True, kw_only=True):
    """Faults of a simulation and their frequency. Probabilities are per occasion, and times are means. All zero is a
    perfect network.
    """

    #: Probability that a message is lost.
    lose: float = 0.0
    #: Probability that a message is delivered twice.
    double: float = 0.0
    #: Longest delay of a message in seconds.
    delay_s_max: float = 0.0
    #: Probability that a process dies before it commits.
    crash_before_commit: float = 0.0
    #: Probability that a process dies after it has committed.
    crash_after_commit: float = 0.0
    #: Probability that the answer to a commit is lost, so that the process repeats the commit.
    repeat_commit: float = 0.0
    #: Probability that a process dies between two actions of a saga.
    crash_between: float = 0.0
    #: Seconds between two workers that are killed.
    kill_worker_every_s: float = 0.0
    #: Seconds between two workers that are frozen for a while and then continue.
    freeze_worker_every_s: float = 0.0
    #: Seconds between two workers that are requested to stop.
    stop_worker_every_s: float = 0.0


#: No faults.
NO_FAULTS = Faults()


class Took(Struct, frozen=True):
    """Simulated run of a job."""

    #: Duration of the run by the virtual clock.
    seconds: float
    #: Error of a run that fails.
    error: str | None = None
    #: Result of a run that succeeds.
    result: object = None
    #: The job's own function or command runs at the end of that time, and its outcome is the run's outcome.
    real: bool = False


#: Simulation of an app's jobs: a duration in seconds until success, a ``Took``, or a function that returns one for
#: each job.
Doing: TypeAlias = float | Took | Callable[[Assignment], float | Took]
