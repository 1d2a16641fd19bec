"""Critical path of a preview, and its widest level.

A chain is a sequence of jobs in which each waits for the one before. The critical path is the chain that takes the
longest. With the expected run times, no number of workers can end the plan earlier. A level has the jobs that start
together if all jobs take equally long and a worker is free for each. No job of a level waits for another one of it.
So the widest level is a lower bound of the number of jobs that can run at once. The exact number, a maximum antichain,
takes too long to compute. Limits of pools and start times are not considered.

This module does not use networkx, whose graph has no alternatives: a job waits for one of its dependency groups. Also,
networkx takes 1.3 s of CPU for 100,000 jobs with 150,000 dependencies and 0.5 s for its import, and this module 0.4 s.
"""

from collections import Counter
from collections.abc import Mapping
from operator import itemgetter

from msgspec import Struct

from sluice.jobs.model.dependency import Gate
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import PlannedJob
from sluice.planner.preview.forecast import Forecast
from sluice.planner.preview.preview import Preview


class CriticalPath(Struct, frozen=True, kw_only=True):
    """``jobs`` are the jobs of the critical path, in order. ``length`` is the end of the last one, counted from the
    start of the plan: in seconds, or as a number of jobs. ``widest_level`` is the number of jobs in that level.
    """

    jobs: tuple[JobName, ...]
    length: float
    widest_level: int


class _Times(Struct, gc=False):
    """Start and end of a job that runs as soon as it can, and the parent that determines its start. ``depth`` is the
    number of new jobs in the chain with the most jobs that ends with it.
    """

    start: float = 0.0
    end: float = 0.0
    depth: int = 0
    after: JobName | None = None


def critical_path(found: Preview, paces_s: Mapping[str, float] | None) -> CriticalPath:
    """Return the critical path of the new jobs. ``paces_s`` are the run times by app; without them each job counts 1.

    A job under way counts as ended when its parents have ended, because the rest of its run time is unknown.
    """
    times: dict[JobName, _Times] = {}
    levels: Counter[int] = Counter()
    last, length = None, 0.0
    for job in found.jobs:
        fate = found.outlook[job.name].fate
        if fate is Forecast.NEW:
            own = times[job.name] = _start(found, job, times)
            own.end += 1.0 if paces_s is None else paces_s[job.name.app]
            own.depth += 1
            levels[own.depth] += 1
            if last is None or own.end > length:
                last, length = job.name, own.end
        elif fate is Forecast.UNDER_WAY:
            times[job.name] = _start(found, job, times)
    chain = []
    while last is not None:
        chain.append(last)
        last = times[last].after
    jobs = tuple(name for name in reversed(chain) if found.outlook[name].fate is Forecast.NEW)
    return CriticalPath(jobs=jobs, length=length, widest_level=max(levels.values(), default=0))


def _start(found: Preview, job: PlannedJob, times: Mapping[JobName, _Times]) -> _Times:
    """Return the times of the job as if it took none. Of several dependency groups, the first one to be met counts. A
    group with a parent that is not going to run counts only if every group has one.
    """
    met = [_met(found, job, gate, times) for gate in job.gates]
    return min(met, key=itemgetter(0, 1))[2] if met else _Times()


def _met(
    found: Preview, job: PlannedJob, gate: Gate, times: Mapping[JobName, _Times]
) -> tuple[bool, float, _Times]:
    """Return whether a parent in the group is not going to run, when the group is met, and the job's times then."""
    is_stuck, start, depth, after = False, 0.0, 0, None
    for need in gate.needs:
        parent = times.get(need.parent)
        if parent is None:
            is_stuck = is_stuck or found.outlook.is_open(job, need)
            continue
        at = parent.start if need.when == "running" else parent.end
        if after is None or at > start:
            start, after = at, need.parent
        depth = max(depth, parent.depth)
    return is_stuck, start, _Times(start, start, depth, after)
