"""Subscriptions: the events of a job that some rule sends, and the time from which the job is late.

The rules of a definition are stored with the job, those of a submission with the submission. The job's column
``notify_on`` has the events of both. It may have too many, because a submission that has ended leaves its events there.
The deliveries are determined later, from the rules (``routing``). So a plan without rules costs no statement.

The caller holds the rows of the jobs for update.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from sluice.jobs.model.submission import SCHEDULED
from sluice.jobs.notifications.rules import NotifyRule
from sluice.jobs.policy.policy import Policy
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import LONGEST_S, NOW

# The due time is the end of the id of a schedule's submission.
_DUE = f"""
CASE WHEN starts_with(submission.id, '{SCHEDULED}')
     THEN substring(submission.id FROM ':(\\d{{4}}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z)$')::timestamptz END
"""
_REQUESTED_AT = f"""
(SELECT coalesce({_DUE}, job.not_before, submission.received_at)
 FROM submission WHERE submission.number = named.submission)
"""
_AGAIN_AT = f"greatest(job.not_before, {NOW})"
_SUBSCRIBE = f"""
UPDATE job SET notify = given.rules::jsonb, late = false, due_within_s = given.due_within_s,
    notify_on = nullif(ARRAY(
        SELECT unnest(job.notify_on) UNION
        SELECT jsonb_array_elements_text(rule -> 'on') FROM jsonb_array_elements(given.rules::jsonb) AS rule
        ORDER BY 1), '{{}}'),
    late_at = CASE WHEN given.due_within_s IS NOT NULL
        THEN CASE WHEN %(again)s THEN {_AGAIN_AT} ELSE coalesce({_REQUESTED_AT}, {NOW}) END
             + make_interval(secs => least(given.due_within_s, {LONGEST_S})) END
FROM unnest(%(jobs)s::bigint[], %(submissions)s::bigint[], %(terms)s::int[]) AS named (id, submission, term)
JOIN unnest(%(rules)s::text[], %(due_within_s)s::float8[]) WITH ORDINALITY AS given (rules, due_within_s, term)
    USING (term)
WHERE job.id = named.id
"""
_ADD = """
UPDATE job SET notify_on = ARRAY(SELECT unnest(job.notify_on) UNION SELECT unnest(%(events)s::text[]) ORDER BY 1)
WHERE id = ANY(%(jobs)s) AND NOT coalesce(notify_on @> %(events)s::text[], false)
"""
_EVENTS = """
SELECT DISTINCT jsonb_array_elements_text(rule -> 'on')
FROM submission CROSS JOIN LATERAL jsonb_array_elements(submission.notify) AS rule WHERE number = ANY(%(numbers)s)
ORDER BY 1
"""
_OF_SUBMISSION = """
UPDATE submission SET notify = given.rules::jsonb FROM unnest(%(numbers)s::bigint[], %(rules)s::text[]) AS given
    (number, rules)
WHERE submission.number = given.number
"""


class SubscribedJob(NamedTuple):
    """A job that begins, the policy with its rules, and the number of the submission that requests it."""

    job: int
    policy: Policy
    submission: int | None


def has_rules(policy: Policy) -> bool:
    """Return whether a job with this policy must be subscribed."""
    return bool(policy.notify) or policy.due_within_s is not None


def subscribe(tx: Tx, jobs: Iterable[SubscribedJob], *, again: bool) -> None:
    """Set the rules of these jobs as in their definitions, and the time from which they are late.

    A new job counts from the due time of the schedule, or from ``start_after``, or from the submission. A job that runs
    ``again`` counts from now.
    """
    begun = [*jobs]
    if not begun:
        return
    places: dict[tuple[int, float | None], int] = {}
    rows: list[tuple[str | None, float | None]] = []
    terms: list[object] = []
    for each in begun:
        term = (id(each.policy.notify), each.policy.due_within_s)
        if term not in places:
            rows.append((_json(each.policy.notify), each.policy.due_within_s))
            places[term] = len(rows)
        terms.append(places[term])
    tx.write(
        _SUBSCRIBE,
        again=again,
        jobs=[each.job for each in begun],
        submissions=[each.submission for each in begun],
        terms=terms,
        **arrays(rows, "rules", "due_within_s"),
    )


def add_events(tx: Tx, numbers: Collection[int], jobs: Collection[int]) -> None:
    """Have the events of these jobs entered that the rules of these submissions send."""
    if numbers and jobs and (events := tx.column(_EVENTS, numbers=sorted(numbers))):
        tx.write(_ADD, jobs=sorted(jobs), events=events)


def set_rules(tx: Tx, rules: Sequence[tuple[int, tuple[NotifyRule, ...]]]) -> None:
    """Set the rules of submissions, each with its number."""
    rows = [(number, _json(each)) for number, each in rules if each]
    if rows:
        tx.write(_OF_SUBMISSION, **arrays(rows, "numbers", "rules"))


def _json(rules: tuple[NotifyRule, ...]) -> str | None:
    return msgspec.json.encode(rules).decode() if rules else None
