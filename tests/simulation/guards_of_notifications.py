"""Guards of notifications that a test can break, by the effect of breaking them."""

from collections.abc import Iterable

from sluice.jobs.notifications.rules import JobEvent
from sluice.jobs.simulated import Faults
from sluice.ledger.database.connection import Tx
from sluice.ledger.lifecycle import plans
from sluice.ledger.notifications import dead_letters, deliveries, lateness, subscriptions
from sluice.ledger.notifications.deliveries import ATTEMPTS_MAX, LEASE_S
from sluice.ledger.notifications.subscriptions import SubscribedJob
from tests.simulation.mutants import Break, Mutant, both, code, sql

_MATCHING = f"(event <> '{JobEvent.RECOVERED}' OR rule -> 'on' ?| alerts)"

_SUBSCRIBE = subscriptions.subscribe


def _theme(apply: Break, first: int = 0, faults: Faults | None = None) -> Mutant:
    return Mutant(apply, first=first, theme="notifications", faults=faults)


def _subscribe_new(tx: Tx, jobs: Iterable[SubscribedJob], *, again: bool) -> None:
    if not again:
        _SUBSCRIBE(tx, jobs, again=again)


MUTANTS = {
    "events have no deliveries": _theme(
        code(
            deliveries,
            "_ENTER_DELIVERIES",
            "UPDATE notification SET routed = true WHERE number = ANY(%(events)s)",
        )
    ),
    "a taken delivery has no lease": _theme(sql(deliveries, "_TAKE", f"secs => {LEASE_S}", "secs => 0")),
    "a result after the lease counts": _theme(
        sql(deliveries, "_RECORD", "delivery.attempts = given.attempt", "true"), first=8
    ),
    "a failed attempt counts as delivered": _theme(
        sql(
            deliveries,
            "_RECORD",
            "delivered_at = CASE WHEN held.error IS NULL THEN",
            "delivered_at = CASE WHEN true THEN",
        )
    ),
    "a delivery is given up too early": _theme(
        sql(deliveries, "_RECORD", f"given.attempt >= {ATTEMPTS_MAX}", "given.attempt >= 3")
    ),
    "each success is a recovery": _theme(
        both(
            sql(deliveries, "_ENTER_RECEIVERS", _MATCHING, "true"),
            sql(deliveries, "_ENTER_DELIVERIES", _MATCHING, "true"),
        )
    ),
    "dead letters are not sent again": _theme(
        sql(dead_letters, "_SEND_AGAIN", "dead_at = NULL, attempts = 0", "dead_at = delivery.dead_at")
    ),
    "late jobs are not marked": _theme(code(lateness, "mark_late", lambda tx, limit: []), first=17),
    "a job is late again and again": _theme(
        sql(lateness, "_MARK_LATE", "SET late = true, alerts", "SET alerts")
    ),
    "rules of submissions enter no events": _theme(
        code(plans.subscriptions, "add_events", lambda tx, numbers, jobs: None), first=19
    ),
    "a job that runs again has no rules": _theme(
        code(plans.subscriptions, "subscribe", _subscribe_new), first=10
    ),
}
