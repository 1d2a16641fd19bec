"""Demand for workers by app, so that enough of them are started before the queues fill.

``ready`` jobs may be claimed now. No limit holds back a ready job, and jobs of paused apps are left out. If a breaker
paused the app, one job counts when a trial is due. ``running`` jobs are held by a worker. Without them, a fleet that is
busy with its last jobs would seem to have no work.

``soon`` jobs will probably be ready within a horizon. Either their time comes, or all unmet parents of one gate are
ready, running or being judged, and usually do not take longer. Of a pool, no more jobs are counted than it has free
slots.

Each part is a bounded read along an index, however large the ledger is. If a read ends at its bound, there may be more
(``at_least``). That does not matter, because an app with such a demand already has as many workers as it may.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from sluice.jobs.states import DISPATCHED, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.state_ranges import ready_of
from sluice.ledger.database.transitions import IN_TURN, NOW
from sluice.ledger.job_graph.readiness import UNEXPIRED
from sluice.ledger.limits.app_pauses import IS_PAUSED

#: Default horizon in seconds: about the time that it takes to start a worker.
HORIZON_S = 60.0
#: Maximum number of jobs of one kind that are counted.
COUNTED_MAX = 10_000
#: Maximum number of waiting jobs of an app that are checked for a pause.
ASKED_MAX = 1000
#: Maximum number of jobs of one state for which children are read, and of needs that are followed. All apps share
#: these.
PARENTS_MAX = 10_000
NEEDS_MAX = 20_000
#: Minimum and maximum of these numbers for one app.
PARENTS_OF_APP = (20, 1000)
NEEDS_OF_APP = (100, 5000)

_DISPATCHED = sql_list(*sorted(DISPATCHED))
# Steps from app to app along the index, however many jobs each has.
_APPS = """
WITH RECURSIVE each (app) AS (
    SELECT min(app) FROM job
    UNION ALL
    SELECT (SELECT min(job.app) FROM job WHERE job.app > each.app) FROM each WHERE each.app IS NOT NULL
)
SELECT app FROM each WHERE app IS NOT NULL
"""
_WITHIN = f"(SELECT {NOW} + make_interval(secs => %(horizon_s)s))"
_READY = ready_of("given.app")
_COUNTED = f"""
WITH running AS MATERIALIZED (
    SELECT app, least(count(*), {COUNTED_MAX}) AS jobs FROM job
    WHERE state = '{State.RUNNING}' AND worker IS NOT NULL GROUP BY app
)
SELECT given.app,
    (SELECT count(*) FROM (SELECT 1 FROM job WHERE {_READY} AND {UNEXPIRED} LIMIT {COUNTED_MAX}) ready) AS ready,
    coalesce((SELECT jobs FROM running WHERE running.app = given.app), 0) AS running,
    asked.paused, asked.many, EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = given.app) AS app_paused,
    EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = given.app AND until <= {_WITHIN}) AS tries_one
FROM unnest(%(apps)s::text[]) AS given (app) CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE unblocked AND paused) AS paused, count(*) AS many FROM (
        SELECT unblocked, paused FROM job WHERE job.app = given.app AND state = '{State.WAITING}'
            LIMIT {ASKED_MAX}) waiting
) asked
"""
_IN_LINE = f"""
SELECT app, count(*) FROM (SELECT app FROM job WHERE waiting_for_slot LIMIT {COUNTED_MAX}) line GROUP BY app
"""
_ELSEWHERE = f"""
SELECT app, count(*) FROM (SELECT app FROM job WHERE next_poll_at IS NOT NULL LIMIT {COUNTED_MAX}) watched GROUP BY app
"""

_TIMED = f"""
SELECT id, false AS cut FROM (
    (SELECT id FROM job WHERE state = '{State.WAITING}' AND unblocked AND NOT paused AND NOT waiting_for_slot
       AND not_before <= {_WITHIN} ORDER BY not_before LIMIT {COUNTED_MAX})
    UNION ALL
    (SELECT id FROM job WHERE state = '{State.WAITING}' AND unblocked AND NOT paused AND NOT waiting_for_slot
       AND not_before IS NULL LIMIT {COUNTED_MAX})
    UNION ALL
    (SELECT id FROM job WHERE state = '{State.SUSPENDED}' AND not_before <= {_WITHIN}
     ORDER BY not_before LIMIT {COUNTED_MAX})
) timed
"""
# Jobs of unknown duration count as short, so that the wait for them and the start of a worker overlap.
_ENDS_SOON = f"""
CASE parent.state WHEN '{State.EXECUTED}' THEN true
    WHEN '{State.READY}' THEN coalesce(app_runtime.mean_s, 0) <= %(horizon_s)s
    ELSE coalesce(parent.changed_at + make_interval(secs => app_runtime.mean_s) <= {_WITHIN}, true) END
"""
# The running and executed jobs of all apps are read once, because their indexes are not by app.
_UNDER_WAY = " UNION ALL ".join(
    f"SELECT id, app, state, changed_at FROM job WHERE state = '{state}'"
    for state in (State.RUNNING, State.EXECUTED)
)
_PARENTS = f"""
(SELECT id, state, changed_at FROM under_way WHERE under_way.app = given.app AND nth <= %(parents)s)
UNION ALL (SELECT id, state, changed_at FROM job WHERE {_READY} AND NOT {IS_PAUSED} LIMIT %(parents)s)
"""
# The needs of a child are not read. Its gate stores the number of unmet needs, and opens if as many parents are about
# to end. Needs for a failure are ignored, because failures are not expected. A need for a running parent does not
# depend on when the parent ends.
_OPENING = f"""
WITH under_way AS MATERIALIZED (
    SELECT id, app, state, changed_at, nth FROM (
        SELECT *, row_number() OVER (PARTITION BY app, state) AS nth FROM ({_UNDER_WAY}) every) each
    WHERE nth <= %(parents)s
)
SELECT coming.child AS id, bool_or(coming.cut) AS cut, bool_or(gate.unmet = coming.many) AS opens FROM (
    SELECT need.child, need.gate, count(*) AS many, bool_or(need.cut) AS cut FROM (
        SELECT followed.child, followed.gate,
            given.many OR count(*) OVER (PARTITION BY given.app) >= %(needs)s AS cut
        FROM unnest(%(apps)s::text[], %(many)s::bool[]) AS given (app, many) LEFT JOIN app_runtime USING (app)
        CROSS JOIN LATERAL (
            SELECT need.child, need.gate FROM ({_PARENTS}) parent CROSS JOIN LATERAL (
                SELECT child, gate, condition FROM need WHERE need.parent = parent.id AND met IS NULL
                LIMIT %(needs)s) need
            WHERE need.condition = 'running' OR need.condition IN ('succeeded', 'finished') AND {_ENDS_SOON}
            LIMIT %(needs)s) followed
    ) need GROUP BY need.child, need.gate
) coming JOIN gate ON gate.child = coming.child AND gate.gate = coming.gate AND gate.impossible = 0
GROUP BY coming.child
"""
_FREE = f"""
SELECT pool, (SELECT count(*) FROM (SELECT 1 FROM job WHERE job.pool = named.pool AND state IN ({_DISPATCHED})
                                    LIMIT {COUNTED_MAX}) taken)
           + (SELECT count(*) FROM (SELECT 1 FROM job WHERE waiting_for_slot AND job.pool = named.pool
                                    LIMIT {COUNTED_MAX}) behind) AS before
FROM (SELECT DISTINCT pool FROM coming WHERE pool IS NOT NULL) named
"""
_SOON = f"""
WITH coming AS MATERIALIZED (
    SELECT job.id, job.app, job.pool, job.pool_limit, job.rate_bucket, job.priority, job.effective_deadline,
        job.not_before,
        job.created_at,
           named.opens, named.cut
    FROM (SELECT id, cut, true AS opens FROM ({_TIMED}) timed UNION ALL SELECT id, cut, opens FROM ({_OPENING}) opening
    ) named CROSS JOIN LATERAL (SELECT * FROM job WHERE job.id = named.id OFFSET 0) job
    WHERE job.state IN ('{State.WAITING}', '{State.SUSPENDED}') AND NOT job.paused AND NOT job.waiting_for_slot
        AND {UNEXPIRED}
      AND NOT {IS_PAUSED}
      AND coalesce(job.not_before <= {_WITHIN}, true)
), free AS MATERIALIZED ({_FREE}), lined_up AS (
    SELECT app, cut, pool, least(pool_limit, CASE WHEN rate_bucket IS NOT NULL THEN (
               SELECT burst FROM rate_limit WHERE rate_limit.app = coming.app) END) - before AS room,
           row_number() OVER (PARTITION BY pool ORDER BY {IN_TURN}) AS place
    FROM coming LEFT JOIN free USING (pool) WHERE opens
)
SELECT app, sum(many)::bigint, bool_or(cut) FROM (
    SELECT app, count(*) FILTER (WHERE pool IS NULL OR place <= room) AS many, bool_or(cut) AS cut
    FROM lined_up GROUP BY app
    UNION ALL
    SELECT app, 0, true FROM coming WHERE cut AND NOT opens GROUP BY app
) counted GROUP BY app
"""


class Demand(Struct, frozen=True, kw_only=True):
    """Work in one app, in jobs at a time: a worker with four threads does four.

    ``blocked`` jobs could run except for a pause or a limit, so no worker may take them. External work (``elsewhere``)
    needs no worker to run it, but a single worker to poll it, however much it is. ``at_least``: a number reached its
    bound.
    """

    app: str
    ready: int = 0
    running: int = 0
    soon: int = 0
    blocked: int = 0
    elsewhere: int = 0
    demand: int = 0
    at_least: bool = False


def demand(
    tx: Tx, apps: Sequence[str] = (), *, known: Iterable[str] = (), horizon_s: float = HORIZON_S
) -> list[Demand]:
    """Return the demand of each of these apps, even if the ledger does not contain it. Without ``apps``: of all apps
    that are ``known`` or have work."""
    heard_of = tx.column(_APPS)
    counted = {
        app: numbers
        for app, *numbers in tx.rows(_COUNTED, apps=sorted({*heard_of, *apps}), horizon_s=horizon_s)
    }
    soon = {app: (number, cut) for app, number, cut in _soon(tx, heard_of, counted, horizon_s)}
    waiting_for_slot: dict[str, int] = dict(tx.rows(_IN_LINE))
    elsewhere: dict[str, int] = dict(tx.rows(_ELSEWHERE))
    named = apps or sorted({*heard_of, *known})
    found = [
        _of(app, counted.get(app, _NONE), soon.get(app, (0, False)), waiting_for_slot, elsewhere)
        for app in named
    ]
    always = {*apps, *known}
    return [each for each in found if each.app in always or each.demand or each.blocked]


_NONE = [0, 0, 0, 0, False, False]


def _soon(
    tx: Tx, apps: Sequence[str], counted: Mapping[str, Sequence[int]], horizon_s: float
) -> list[tuple[Any, ...]]:
    busy = sum(1 for app in apps if any(counted[app][:2])) or 1
    parents, needs = _share(PARENTS_MAX, busy, PARENTS_OF_APP), _share(NEEDS_MAX, busy, NEEDS_OF_APP)
    many = [max(counted[app][:2]) >= parents for app in apps]
    return tx.rows(_SOON, apps=apps, many=many, parents=parents, needs=needs, horizon_s=horizon_s)


def _share(all_of_it: int, sharers: int, bounds: tuple[int, int]) -> int:
    least, most = bounds
    return max(least, min(most, all_of_it // sharers))


def _of(
    app: str,
    counted: Sequence[int],
    soon: tuple[int, bool],
    waiting_for_slot: Mapping[str, int],
    elsewhere: Mapping[str, int],
) -> Demand:
    ready, running, paused, asked, app_paused, tries_one = counted
    if app_paused:
        tried = min(ready, int(tries_one))
        ready, paused = tried, paused + ready - tried
    coming, cut = soon
    in_pools, watched = waiting_for_slot.get(app, 0), elsewhere.get(app, 0)
    bounded = (
        max(ready, running, coming, sum(waiting_for_slot.values()), sum(elsewhere.values())) >= COUNTED_MAX
    )
    return Demand(
        app=app,
        ready=ready,
        running=running,
        soon=coming,
        blocked=paused + in_pools,
        elsewhere=watched,
        demand=max(ready + running + coming, min(watched, 1)),
        at_least=cut or bounded or asked >= ASKED_MAX,
    )
