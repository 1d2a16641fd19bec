"""What the ledger says twice, and says differently, is worked out anew from the one that the other follows from.

What holds: no history is rewritten, and no job moves but by a verb of its own. Gates are counted by the needs, the
needs are told anew by the parents; what is owed, paused, urgent, counted or watched follows from the jobs and from who
wants them. So after it the groomer and the planner go on as after any message that was lost. Where nothing is left that
tells the truth, as of histories, nobody can repair it (``can_be_repaired``).

Who races whom: everybody, for others work meanwhile. What a repair reads again it holds, in the order that all verbs
hold it in; or it is one statement, and what that finds broken in its snapshot does not become whole by itself. A
difference between two counts stays what it is, whoever adds to both. What a crash leaves: some rules that are true
again, and others that are not yet.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sluice.jobs.history import Lost
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger import counts, pausing, tallies, urgency
from sluice.ledger.connection import Ledger, Tx
from sluice.ledger.reads import check
from sluice.ledger.reads.check import Breach, breaches, broken
from sluice.ledger.sql import NOW
from sluice.ledger.submissions import owe

#: Of the rows that break a rule so many are looked for at a time, and so many are repaired in one transaction: those
#: who work wait for no more than that.
LOOK = 10_000
BATCH = 1_000
#: One repair brings to light what the next has to do, and so on; there are not as many kinds.
TURNS_MAX = 20

_COUNT = f"""
INSERT INTO tally (app, state, jobs, entered)
SELECT app, state, coalesce(there.jobs, 0) - coalesce(counted.jobs, 0), 0 FROM {check.MISCOUNTED}
ON CONFLICT (app, state) DO UPDATE SET jobs = tally.jobs + excluded.jobs
"""
_END_ROUNDS = f"""
UPDATE round SET executed_at = {NOW}, ending = '{Lost.LEASE_LOST}', error = '{Lost.LEASE_LOST}'
WHERE job = ANY(%(jobs)s) AND ending IS NULL AND NOT EXISTS (
    SELECT 1 FROM job WHERE job.id = round.job AND job.claim = round.claim AND job.state = '{State.RUNNING}')
"""
_WATCH = f"""
UPDATE job SET watch_at = CASE WHEN handle IS NOT NULL
    AND (state NOT IN ({sql_list(*sorted(LIVE))}) OR state = '{State.RUNNING}' AND worker IS NULL) THEN {NOW} END
WHERE id = ANY(%(jobs)s)
"""
_COLLECT = """
UPDATE job SET collect = (overrides ->> 'archive' = 'manual') WHERE id = ANY(%(jobs)s) AND overrides ? 'archive'
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
_WANT_NO_MORE = (
    "DELETE FROM wants WHERE job = ANY(%(jobs)s) AND NOT EXISTS (SELECT 1 FROM job WHERE id = wants.job)"
)


def _count_anew(tx: Tx, jobs: list[int]) -> None:
    owe(tx, counts.untell(tx, jobs))


def _forget(tx: Tx, jobs: list[int]) -> None:
    _count_anew(tx, sorted(set(tx.column(_NEED_NO_MORE, jobs=jobs))))
    tx.write(_WANT_NO_MORE, jobs=jobs)


def _count_states(tx: Tx, _: list[int]) -> None:
    tallies.hold(tx)
    tx.write(_COUNT)


def _writing(sql: str) -> Callable[[Tx, list[int]], object]:
    return lambda tx, jobs: tx.write(sql, jobs=jobs)


#: What makes a rule true again of the rows that break it.
_REPAIRS: Mapping[str, Callable[[Tx, list[int]], object]] = {
    check.NAMED: _forget,
    check.GATES_COUNT: _count_anew,
    check.OPEN: _count_anew,
    check.TOLD: _count_anew,
    check.SPLIT_OWED: owe,
    check.URGENT: urgency.lend,
    check.PAUSED: pausing.follow,
    check.ROUNDS_END: _writing(_END_ROUNDS),
    check.WATCHED: _writing(_WATCH),
    check.COLLECTED: _writing(_COLLECT),
    check.ARCHIVED: _writing(_UNARCHIVE),
    check.BREAKER_PAUSES: _writing(_GO_ON),
    check.COUNTED: _count_states,
}


def can_be_repaired(breach: Breach) -> bool:
    return breach.rule in _REPAIRS


def repair(ledger: Ledger) -> tuple[list[str], list[Breach]]:
    """The rules that are true again, and what is still broken.

    Each turn looks once at the whole ledger, and then makes rule by rule true of all rows that break it. One repair may
    bring another to light: it is over when a turn has changed nothing.
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
    """Until nothing breaks it but what has been repaired in this turn already, in vain; the next one may do better."""
    tried: set[Any] = set()
    while new := {*ledger.transact(partial(broken, rule=rule, limit=LOOK))} - tried:
        tried |= new
        rows = sorted(new)
        for start in range(0, len(rows), BATCH):
            ledger.transact(partial(_make_true, rule=rule, rows=rows[start : start + BATCH]))


def _make_true(tx: Tx, *, rule: str, rows: list[Any]) -> None:
    _REPAIRS[rule](tx, rows)
