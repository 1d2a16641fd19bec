"""How far submissions are, in time that does not grow with them.

A small one is counted. Of a larger one the range of its jobs' ids is cut into equal stretches, and the first few that
it wants in each are looked at along the primary key of ``wants``: how dense they lie says how many there are in the
stretch, and one of these says in which state. Where it wants all ids of its range, as most do, how many there are
is exact.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sluice.jobs.states import DEAD, LIVE, State
from sluice.ledger.connection import Tx

#: So many jobs are counted, and beyond that so many stretches are looked at.
EXACT_MAX, PROBES = 5000, 1000
#: The same for each of many submissions.
EXACT_OF_MANY, PROBES_OF_MANY = 500, 100
#: So many are looked at in each stretch; fewer are all there are.
_NEAR = 5

_COUNT = """
SELECT asked.number, job.state, count(*)::float8
FROM unnest(%(numbers)s::bigint[]) AS asked (number)
     CROSS JOIN LATERAL (
         SELECT wants.job FROM wants WHERE wants.submission = asked.number LIMIT %(limit)s) wanted
     JOIN job ON job.id = wanted.job
GROUP BY asked.number, job.state
"""
# The state is that of one at some place in the stretch, always the same one: of jobs that were made in turns every
# first of a stretch may be of one kind.
# So many successes in so many tries: the last one is no chance, for there the count was ended.
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
    """A submission's jobs by state; ``about``: they were not all looked at."""

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
        """What was skipped, or cancelled, has not failed; of what was split the halves are asked."""
        bad = DEAD - {State.SKIPPED, State.SPLIT, State.CANCELLED}
        return sum(count for state, count in self.states.items() if state in bad)


def shares(tx: Tx, numbers: Sequence[int], *, exact_max: int, probes: int) -> dict[int, Share]:
    """By the number of each submission."""
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
