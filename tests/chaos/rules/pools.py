"""Rule about pools, which limit how many jobs run at once."""

from collections import defaultdict
from collections.abc import Iterator

from tests.chaos.history import History


def no_more_run_at_once_than_may(history: History) -> Iterator[str]:
    """Check that no pool runs more jobs than its limit, by the ledger's clock, from each claim to its outcome.

    A job that was taken from its worker is not running, even if the worker goes on.
    """
    pools: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    limits: dict[str, int] = {}
    for job in history.rows.jobs:
        if job.pool is None or job.pool_limit is None:
            continue
        limits[job.pool] = max(job.pool_limit, limits.get(job.pool, 0))
        for each in history.rounds_of.get(job.id, []):
            if each.executed_at is not None:
                # If a job ends at the moment at which another begins, it ended first.
                pools[job.pool] += [(each.running_at, 1), (each.executed_at, -1)]
    for pool, moments in pools.items():
        running = most = 0
        for _, change in sorted(moments):
            running += change
            most = max(most, running)
        if most > limits[pool]:
            yield f"{most} jobs of {pool} ran at once; the limit is {limits[pool]}"
