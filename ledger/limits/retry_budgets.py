"""Retry budgets: how much the retry of a failed round is delayed beyond its own terms.

Invariant: each app with a budget has one row with the time at which the budget is full again. A transaction that judges
failed rounds of the app takes from the budget in the same transaction that retries them. A crash takes nothing.

Races: two transactions that judge rounds of one app. Each already holds the rows of its jobs, and locks no other rows
while it holds a budget's row. Several apps are locked in the order of their names. So the second transaction waits for
the first one's commit, and takes from the remaining budget.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby

from sluice.jobs.model.judgement import Case
from sluice.jobs.policy.retry_budget import RetryBudget
from sluice.ledger.database.connection import Tx

#: Function from an app to its retry budget, if it has one.
BudgetOf = Callable[[str], RetryBudget | None]

_HOLD = """
INSERT INTO retry_budget (app, full_at) VALUES (%(app)s, %(at)s)
ON CONFLICT (app) DO UPDATE SET full_at = retry_budget.full_at RETURNING full_at
"""
_TAKE = "UPDATE retry_budget SET full_at = %(full_at)s WHERE app = %(app)s"


def delays(tx: Tx, cases: Sequence[Case], budget_of: BudgetOf) -> Mapping[int, timedelta]:
    """Take these retries from the budgets. Return the additional delay of each case; apps without a budget are left
    out."""
    later: dict[int, timedelta] = {}
    by_app = sorted(cases, key=lambda case: (case.app, case.executed_at))
    for app, of_app in groupby(by_app, key=lambda case: case.app):
        if budget := budget_of(app):
            those = list(of_app)
            full_at = tx.column(_HOLD, app=app, at=those[0].executed_at)[0]
            waits, full_at = budget.put_off([case.executed_at for case in those], full_at)
            tx.write(_TAKE, app=app, full_at=full_at)
            later |= {case.id: wait for case, wait in zip(those, waits, strict=True)}
    return later
