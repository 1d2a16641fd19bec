"""Progress of submissions, in a time that does not grow with their size.

A small submission is counted. For a larger one, the range of its jobs' ids is cut into equal stretches. The first few
jobs that it wants in each stretch are read along the primary key of ``wants``. Their density determines the number of
jobs in the stretch, and a single job determines the state. If a submission wants all ids of its range, as most do, the
total is exact.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sluice.jobs.states import DEAD, LIVE, State
from sluice.ledger.connection import Tx

#: Maximum number of jobs that are counted, and number of stretches that are read of a larger submission.
EXACT_MAX, PROBES = 5000, 1000
#: Limits for each of many submissions: jobs that are counted, and stretches that are read.
EXACT_OF_MANY, PROBES_OF_MANY = 500, 100
#: Jobs that are read in each stretch. If there are fewer, they are all of the stretch.
_NEAR = 5

_COUNT = """
SELECT asked.number, job.state, count(*)::float8
FROM unnest(%(numbers)s::bigint[]) AS asked (number)
     CROSS JOIN LATERAL (
         SELECT wants.job FROM wants WHERE wants.submission = asked.number LIMIT %(limit)s) wanted
     JOIN job ON job.id = wanted.job
GROUP BY asked.number, job.state
"""
# The state is read from the job at a random but constant place in the stretch. The first job would not do: if jobs of
# several kinds were made in turns, the first of every stretch may be of the same kind.
# The density is the number of jobs found, divided by the number of ids read. The last job found is left out of both,
# because the search ended there by its being found.
_DENSE = f"({_NEAR} - 1.0) / (near.last - stretch.first) * (stretch.behind - stretch.first)"
_PROBE = f"""
WITH ends AS MATERIALIZED (
    SELECT number, (SELECT min(job) FROM wants WHERE submission = number) AS low,
           (SELECT max(job) FROM wants WHERE submission = number) + 1 AS high
    FROM unnest(%(numbers)s::bigint[]) AS asked (number)
), stretch AS MATERIALIZED (
    SELECT number, low + (high - low) * step / %(probes)s AS first,
           low + (high - low) * (step + 1) / %(probes)s AS behind, hashint4(step) & 1073741823 AS chance
    FROM ends CROSS JOIN generate_series(0, %(probes)s - 1) step
)
SELECT stretch.number, job.state, sum(CASE WHEN near.found < {_NEAR} THEN near.found ELSE {_DENSE} END)::float8
FROM stretch
    CROSS JOIN LATERAL (
        SELECT count(*) AS found, min(job) AS next, max(job) AS last FROM (
            SELECT wants.job FROM wants
            WHERE wants.submission = stretch.number AND wants.job >= stretch.first AND wants.job < stretch.behind
            ORDER BY wants.job LIMIT {_NEAR}) looked) near
    CROSS JOIN LATERAL (
        SELECT min(wants.job) AS job FROM wants
        WHERE wants.submission = stretch.number AND wants.job < stretch.behind
          AND wants.job >= stretch.first + chance %% greatest(stretch.behind - stretch.first, 1)) other
    JOIN job ON job.id = coalesce(other.job, near.next)
GROUP BY 1, 2
"""


class Share(Struct, frozen=True, kw_only=True):
    """Jobs of a submission by state; ``about``: the numbers are estimates."""

    states: Mapping[State, int]
    about: bool

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def ended(self) -> int:
        return sum(count for state, count in self.states.items() if state not in LIVE)

    @property
    def failed(self) -> int:
        """Number of failed jobs. Skipped and cancelled jobs have not failed; for a split job, its halves count."""
        bad = DEAD - {State.SKIPPED, State.SPLIT, State.CANCELLED}
        return sum(count for state, count in self.states.items() if state in bad)


def shares(tx: Tx, numbers: Sequence[int], *, exact_max: int, probes: int) -> dict[int, Share]:
    """Return the share of each submission by its number."""
    counted: dict[int, dict[State, float]] = {number: {} for number in numbers}
    for number, state, count in tx.rows(_COUNT, numbers=[*numbers], limit=exact_max + 1) if numbers else []:
        counted[number][State(state)] = count
    large = [number for number, states in counted.items() if sum(states.values()) > exact_max]
    counted |= {number: {} for number in large}
    for number, state, count in tx.rows(_PROBE, numbers=large, probes=probes) if large else []:
        counted[number][State(state)] = count
    return {
        number: Share(states={state: round(count) for state, count in states.items()}, about=number in large)
        for number, states in counted.items()
    }
