"""How much work there is for each app's workers, so that there are enough of them before the queues fill.

``ready`` jobs may be claimed now: a job is ready only where no limit keeps it, and here its app is not paused
(of one that its breaker has paused, one may be as soon as that has it tried).
``running`` ones are held by a worker; without them a fleet that is busy with its last jobs would count as one without
work. ``soon`` are those that will be ready within a horizon, as far as can be told: their time comes, or all that one
of their gates waits for is ready, running or being judged, and does not usually take longer. Nobody is told of more of
a pool than it has slots.

Each part is a bounded look along an index, whatever there is in the ledger. Where one ends at its bound, there may be
more (``at_least``); that costs no accuracy that matters, for whoever has so much to do has all the workers he may.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from sluice.jobs.states import DISPATCHED, State, sql_list
from sluice.ledger.app_pauses import IS_PAUSED
from sluice.ledger.connection import Tx
from sluice.ledger.release import UNEXPIRED
from sluice.ledger.sql import IN_TURN, NOW

#: What will be ready within so long counts, where nobody says otherwise: about what it takes to start a worker.
HORIZON_S = 60.0
#: More of one kind are not counted.
COUNTED_MAX = 10_000
#: Of the waiting jobs of an app, so many are asked whether they are paused.
ASKED_MAX = 1000
#: Of the jobs of one state so many are asked for their children, and so many needs are followed. Apps share this.
PARENTS_MAX = 10_000
NEEDS_MAX = 20_000
#: Of one app no more, and no fewer, than these.
PARENTS_OF_APP = (20, 1000)
NEEDS_OF_APP = (100, 5000)

_DISPATCHED = sql_list(*sorted(DISPATCHED))
# From one app to the next along the index, however many jobs each has.
_APPS = """
WITH RECURSIVE each (app) AS (
    SELECT min(app) FROM job
    UNION ALL
    SELECT (SELECT min(job.app) FROM job WHERE job.app > each.app) FROM each WHERE each.app IS NOT NULL
)
SELECT app FROM each WHERE app IS NOT NULL
"""
_WITHIN = f"{NOW} + make_interval(secs => %(horizon_s)s)"
_COUNTED = f"""
SELECT given.app,
    (SELECT count(*) FROM (SELECT 1 FROM job WHERE job.app = given.app AND state = '{State.READY}' AND {UNEXPIRED}
                           LIMIT {COUNTED_MAX}) ready) AS ready,
    (SELECT count(*) FROM (SELECT 1 FROM job WHERE job.app = given.app AND state = '{State.RUNNING}'
                           AND worker IS NOT NULL LIMIT {COUNTED_MAX}) running) AS running,
    asked.paused, asked.many, EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = given.app) AS app_paused,
    EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = given.app AND until <= {_WITHIN}) AS tries_one
FROM unnest(%(apps)s::text[]) AS given (app) CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE open AND paused) AS paused, count(*) AS many FROM (
        SELECT open, paused FROM job WHERE job.app = given.app AND state = '{State.WAITING}' LIMIT {ASKED_MAX}) waiting
) asked
"""
_IN_LINE = (
    f"SELECT app, count(*) FROM (SELECT app FROM job WHERE queued LIMIT {COUNTED_MAX}) line GROUP BY app"
)
_ELSEWHERE = f"""
SELECT app, count(*) FROM (SELECT app FROM job WHERE watch_at IS NOT NULL LIMIT {COUNTED_MAX}) watched GROUP BY app
"""

_TIMED = f"""
SELECT id, false AS cut FROM (
    (SELECT id FROM job WHERE state = '{State.WAITING}' AND open AND NOT paused AND NOT queued
       AND not_before <= {_WITHIN} ORDER BY not_before LIMIT {COUNTED_MAX})
    UNION ALL
    (SELECT id FROM job WHERE state = '{State.WAITING}' AND open AND NOT paused AND NOT queued
       AND not_before IS NULL LIMIT {COUNTED_MAX})
    UNION ALL
    (SELECT id FROM job WHERE state = '{State.SUSPENDED}' AND not_before <= {_WITHIN}
     ORDER BY not_before LIMIT {COUNTED_MAX})
) timed
"""
# An app of which nobody knows how long its jobs take has short ones, so that they are not waited for twice.
_ENDS_SOON = f"""
CASE parent.state WHEN '{State.EXECUTED}' THEN true
    WHEN '{State.READY}' THEN coalesce(pace.mean_s, 0) <= %(horizon_s)s
    ELSE coalesce(parent.changed_at + make_interval(secs => pace.mean_s) <= {_WITHIN}, true) END
"""
_PARENTS = " UNION ALL ".join(
    "(SELECT id, state, changed_at FROM job"
    f" WHERE job.app = given.app AND state = '{state}' AND {condition} LIMIT %(parents)s)"
    for state, condition in (
        (State.RUNNING, "true"),
        (State.READY, f"NOT {IS_PAUSED}"),
        (State.EXECUTED, "true"),
    )
)
# A child's needs are not read: its gate has their number, and opens with the last of those that are on their way.
# What follows from a failure is not expected; what waits for a start alone does not wait for an end.
_OPENING = f"""
SELECT coming.child AS id, bool_or(coming.cut) AS cut, bool_or(gate.unmet = coming.many) AS opens FROM (
    SELECT need.child, need.gate, count(*) AS many, bool_or(need.cut) AS cut FROM (
        SELECT followed.child, followed.gate,
            given.many OR count(*) OVER (PARTITION BY given.app) >= %(needs)s AS cut
        FROM unnest(%(apps)s::text[], %(many)s::bool[]) AS given (app, many) LEFT JOIN pace USING (app)
        CROSS JOIN LATERAL (
            SELECT need.child, need.gate FROM ({_PARENTS}) parent CROSS JOIN LATERAL (
                SELECT child, gate, condition FROM need WHERE need.parent = parent.id AND settled IS NULL
                LIMIT %(needs)s) need
            WHERE need.condition = 'running' OR need.condition IN ('succeeded', 'finished') AND {_ENDS_SOON}
            LIMIT %(needs)s) followed
    ) need GROUP BY need.child, need.gate
) coming JOIN gate ON gate.child = coming.child AND gate.gate = coming.gate AND gate.dead = 0
GROUP BY coming.child
"""
_FREE = f"""
SELECT pool, (SELECT count(*) FROM (SELECT 1 FROM job WHERE job.pool = named.pool AND state IN ({_DISPATCHED})
                                    LIMIT {COUNTED_MAX}) taken)
           + (SELECT count(*) FROM (SELECT 1 FROM job WHERE queued AND job.pool = named.pool
                                    LIMIT {COUNTED_MAX}) behind) AS before
FROM (SELECT DISTINCT pool FROM coming WHERE pool IS NOT NULL) named
"""
_SOON = f"""
WITH coming AS MATERIALIZED (
    SELECT job.id, job.app, job.pool, job.pool_limit, job.priority, job.urgent_by, job.not_before, job.created_at,
           named.opens, named.cut
    FROM (SELECT id, cut, true AS opens FROM ({_TIMED}) timed UNION ALL SELECT id, cut, opens FROM ({_OPENING}) opening
    ) named JOIN job USING (id)
    WHERE job.state IN ('{State.WAITING}', '{State.SUSPENDED}') AND NOT job.paused AND NOT job.queued AND {UNEXPIRED}
      AND NOT {IS_PAUSED}
      AND coalesce(job.not_before <= {_WITHIN}, true)
), free AS MATERIALIZED ({_FREE}), lined_up AS (
    SELECT app, cut, pool, pool_limit - before AS room,
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
    """What there is to do in one app, in jobs at once: a worker of four threads does four.

    ``blocked`` may run but for a pause or a limit, and is nobody's to do. What goes on ``elsewhere`` needs no worker to
    run it, and one to look after it, however much that is. ``at_least``: one of these was not counted to its end.
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
    """Of these apps each, whether the ledger has heard of it or not; without any, of all that are ``known`` or have
    something to do."""
    heard_of = tx.column(_APPS)
    counted = {
        app: numbers
        for app, *numbers in tx.rows(_COUNTED, apps=sorted({*heard_of, *apps}), horizon_s=horizon_s)
    }
    soon = {app: (number, cut) for app, number, cut in _soon(tx, heard_of, counted, horizon_s)}
    in_line: dict[str, int] = dict(tx.rows(_IN_LINE))
    elsewhere: dict[str, int] = dict(tx.rows(_ELSEWHERE))
    named = apps or sorted({*heard_of, *known})
    found = [
        _of(app, counted.get(app, _NONE), soon.get(app, (0, False)), in_line, elsewhere) for app in named
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
    in_line: Mapping[str, int],
    elsewhere: Mapping[str, int],
) -> Demand:
    ready, running, paused, asked, app_paused, tries_one = counted
    if app_paused:
        tried = min(ready, int(tries_one))
        ready, paused = tried, paused + ready - tried
    coming, cut = soon
    queued, watched = in_line.get(app, 0), elsewhere.get(app, 0)
    bounded = max(ready, running, coming, sum(in_line.values()), sum(elsewhere.values())) >= COUNTED_MAX
    return Demand(
        app=app,
        ready=ready,
        running=running,
        soon=coming,
        blocked=paused + queued,
        elsewhere=watched,
        demand=max(ready + running + coming, min(watched, 1)),
        at_least=cut or bounded or asked >= ASKED_MAX,
    )
