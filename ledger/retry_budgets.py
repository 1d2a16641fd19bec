"""Retry budgets: how much later than else a failed round is tried again.

What holds: of each app with a budget one row says when it is full again, and whoever judges failed rounds of the app
takes from it in the transaction that has them tried again. A crash takes nothing.

Who races whom: two judges of one app. Each has its jobs' rows by then, and no other is locked while a row of a budget
is; of several apps they are taken in the order of their names. So the second waits for the first to commit, and takes
what that has left.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby

from sluice.jobs.retry_budget import RetryBudget
from sluice.jobs.verdict import Case
from sluice.ledger.connection import Tx

#: Of an app, if it has one.
BudgetOf = Callable[[str], RetryBudget | None]

_HOLD = """
INSERT INTO retry_budget (app, full_at) VALUES (%(app)s, %(at)s)
ON CONFLICT (app) DO UPDATE SET full_at = retry_budget.full_at RETURNING full_at
"""
_TAKE = "UPDATE retry_budget SET full_at = %(full_at)s WHERE app = %(app)s"


def put_off(tx: Tx, cases: Sequence[Case], budget_of: BudgetOf) -> Mapping[int, timedelta]:
    """How much later each of these cases, all to be tried again, is due than by its own terms; where there is a
    budget."""
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
