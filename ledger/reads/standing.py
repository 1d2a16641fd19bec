"""Present number of jobs of each app in each state, and the transitions of each minute."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

# Transitions that are not counted yet, one row each. With both bounds, Postgres correctly estimates few rows. With only
# a lower bound, it estimates a third of the whole history, and would read that from end to end.
UNCOUNTED = """
(SELECT * FROM transition
 WHERE id > (SELECT counted FROM tally_place) AND id <= (SELECT max(id) FROM transition)) step
CROSS JOIN LATERAL (SELECT app FROM job WHERE job.id = step.job LIMIT 1) job
"""
# Counted and uncounted transitions are read in one statement, so both are of one snapshot.
SIDES = f"""
SELECT app, state, jobs FROM tally
UNION ALL SELECT job.app, side.state, side.jobs
FROM {UNCOUNTED} CROSS JOIN LATERAL (VALUES (step.target, 1), (step.source, -1)) AS side (state, jobs)
WHERE side.state <> '-'
"""
_STANDING = f"""
SELECT app, state, sum(jobs)::bigint FROM ({SIDES}) side GROUP BY 1, 2 HAVING sum(jobs) <> 0 ORDER BY 1, 2
"""
_MINUTES = f"""
SELECT minute, app, state, sum(entered)::bigint AS entered FROM (
    SELECT minute, app, state, entered FROM tally_minute
    WHERE minute > date_trunc('minute', {NOW}, 'UTC') - make_interval(mins => %(minutes)s)
    UNION ALL SELECT date_trunc('minute', step.at, 'UTC'), job.app, step.target, 1 FROM {UNCOUNTED}
) entry WHERE state = ANY(%(states)s)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""


class Minute(Struct, frozen=True):
    """Number of times that jobs of the app entered the state within the minute that begins at ``minute``."""

    minute: datetime
    app: str
    state: State
    entered: int


def standing(tx: Tx) -> Mapping[str, Mapping[State, int]]:
    """Return the number of jobs of each app by state."""
    apps: dict[str, dict[State, int]] = {}
    for app, state, jobs in tx.rows(_STANDING):
        apps.setdefault(app, {})[State(state)] = jobs
    return apps


def minutes(tx: Tx, count: int, states: tuple[State, ...]) -> list[Minute]:
    """Return the entries into these states during the last ``count`` minutes, including the present one."""
    return tx.structs(Minute, _MINUTES, minutes=count, states=[str(state) for state in states])
