"""Time in which one worker process begins a job, and its cost while it has none."""

import time
from collections.abc import Mapping, Sequence

from sluice.ops.bench.environment import BenchEnvironment
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import IDLE_S, WITHIN_S

#: Seconds after the first job that are not measured. The worker uses them to finish the work of this job.
_CALM_S = IDLE_S / 5


def started(ground: BenchEnvironment, command: Sequence[str], environment: Mapping[str, str]) -> Figures:
    """Start a worker and measure it. One job must be waiting. A supervisor process counts as part of the worker."""
    began_at_s = time.monotonic()
    with ground.crew([command], environment) as (crew, marks):
        [first] = marks.wait_for(1, within_s=WITHIN_S)
        time.sleep(_CALM_S)
        cpu_s, idle_at_s = crew.cpu_s(), time.monotonic()
        time.sleep(IDLE_S)
        idle_cpu = (crew.cpu_s() - cpu_s) / (time.monotonic() - idle_at_s)
        return {
            "start_s": first.at_s - began_at_s,
            "idle_cpu_percent": idle_cpu * 100,
            "pss_mb": crew.pss_mb(),
        }
