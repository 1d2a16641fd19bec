"""Repair: recompute derived data that contradicts the data it follows from.

Invariants: no history is rewritten, and jobs change their state only by their own verbs. Gates are counted from the
needs, and the needs are settled from the parents again. Propagation, pauses, urgency, counts and polls follow from the
jobs and the submissions that request them. So afterwards the groomer and the planner continue as after any lost
message. If no correct data is left, as for histories, no repair is possible (``can_be_repaired``).

Races: all other transactions continue during a repair. Data that a repair reads again is locked first, in the lock
order of all verbs. Other repairs are one statement each, and a breach found in its snapshot does not disappear by
itself. A difference between two counts stays the same when concurrent transactions add to both.

A crash leaves some rules repaired, and others still broken.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sluice.jobs.model.history import Lost
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.job_graph import dependencies, priorities
from sluice.ledger.limits import pauses
from sluice.ledger.recovery import invariants
from sluice.ledger.recovery.invariants import Breach, breaches, broken
from sluice.ledger.stats import state_counts

#: Rows that break a rule are searched for in groups of ``LOOK``, and repaired in transactions of ``BATCH`` rows.
#: Concurrent transactions wait for no more than one batch.
LOOK = 10_000
BATCH = 1_000
#: Most passes over the ledger. One repair may reveal the next one, but there are fewer than 20 kinds of repair.
TURNS_MAX = 20

_COUNT = f"""
INSERT INTO state_count (app, state, jobs, entered)
SELECT app, state, coalesce(there.jobs, 0) - coalesce(counted.jobs, 0), 0 FROM {invariants.MISCOUNTED}
ON CONFLICT (app, state) DO UPDATE SET jobs = state_count.jobs + excluded.jobs
"""
_END_ROUNDS = f"""
UPDATE round SET executed_at = {NOW}, ending = '{Lost.LEASE_LOST}', error = '{Lost.LEASE_LOST}'
WHERE job = ANY(%(jobs)s) AND ending IS NULL AND NOT EXISTS (
    SELECT 1 FROM job WHERE job.id = round.job AND job.claim = round.claim AND job.state = '{State.RUNNING}')
"""
_WATCH = f"""
UPDATE job SET next_poll_at = CASE WHEN handle IS NOT NULL
    AND (state NOT IN ({sql_list(*sorted(LIVE))}) OR state = '{State.RUNNING}' AND worker IS NULL) THEN {NOW} END
WHERE id = ANY(%(jobs)s)
"""
_COLLECT = """
UPDATE job SET needs_collection = (overrides ->> 'archive' = 'manual') WHERE id = ANY(%(jobs)s)
    AND overrides ? 'archive'
"""
_UNARCHIVE = """
UPDATE job SET archived_at = NULL
WHERE id = ANY(%(jobs)s) AND archived_at < (SELECT max(at) FROM transition WHERE transition.job = job.id)
"""
_GO_ON = "DELETE FROM app_pause WHERE until IS NOT NULL AND app NOT IN (SELECT app FROM breaker)"
_NEED_NO_MORE = """
DELETE FROM need WHERE child = ANY(%(jobs)s)
  AND NOT (EXISTS (SELECT 1 FROM job WHERE id = parent) AND EXISTS (SELECT 1 FROM job WHERE id = child))
RETURNING child
"""
_WANT_NO_MORE = """
DELETE FROM submission_job WHERE job = ANY(%(jobs)s) AND NOT EXISTS (SELECT 1 FROM job WHERE id = submission_job.job)
"""


def _count_anew(tx: Tx, jobs: list[int]) -> None:
    dependencies.add_to_outbox(tx, dependencies.reset(tx, jobs))


def _forget(tx: Tx, jobs: list[int]) -> None:
    _count_anew(tx, sorted(set(tx.column(_NEED_NO_MORE, jobs=jobs))))
    tx.write(_WANT_NO_MORE, jobs=jobs)


def _count_states(tx: Tx, _: list[int]) -> None:
    state_counts.hold(tx)
    tx.write(_COUNT)


def _writing(sql: str) -> Callable[[Tx, list[int]], object]:
    return lambda tx, jobs: tx.write(sql, jobs=jobs)


#: Function that repairs the rows that break a rule, by rule.
_REPAIRS: Mapping[str, Callable[[Tx, list[int]], object]] = {
    invariants.NAMED: _forget,
    invariants.GATES_COUNT: _count_anew,
    invariants.OPEN: _count_anew,
    invariants.TOLD: _count_anew,
    invariants.SPLIT_OWED: dependencies.add_to_outbox,
    invariants.URGENT: priorities.lend,
    invariants.PAUSED: pauses.apply,
    invariants.ROUNDS_END: _writing(_END_ROUNDS),
    invariants.WATCHED: _writing(_WATCH),
    invariants.COLLECTED: _writing(_COLLECT),
    invariants.ARCHIVED: _writing(_UNARCHIVE),
    invariants.BREAKER_PAUSES: _writing(_GO_ON),
    invariants.COUNTED: _count_states,
}


def can_be_repaired(breach: Breach) -> bool:
    return breach.rule in _REPAIRS


def repair(ledger: Ledger) -> tuple[list[str], list[Breach]]:
    """Repair the ledger. Return the rules that were repaired, and the breaches that remain.

    Each pass checks the whole ledger once, then repairs rule by rule all rows that break it. One repair may reveal
    another breach, so passes continue until one changes nothing.
    """
    seen: list[list[Breach]] = []
    found = ledger.transact(breaches)
    while any(map(can_be_repaired, found)) and found not in seen and len(seen) < TURNS_MAX:
        seen.append(found)
        for breach in filter(can_be_repaired, found):
            _repair(ledger, breach.rule)
        found = ledger.transact(breaches)
    left = {breach.rule for breach in found}
    return sorted({breach.rule for turn in seen for breach in turn} - left), found


def _repair(ledger: Ledger, rule: str) -> None:
    """Repair one rule until only rows break it that this pass has already tried. The next pass may succeed with
    these."""
    tried: set[Any] = set()
    while new := {*ledger.transact(partial(broken, rule=rule, limit=LOOK))} - tried:
        tried |= new
        rows = sorted(new)
        for start in range(0, len(rows), BATCH):
            ledger.transact(partial(_make_true, rule=rule, rows=rows[start : start + BATCH]))


def _make_true(tx: Tx, *, rule: str, rows: list[Any]) -> None:
    _REPAIRS[rule](tx, rows)
