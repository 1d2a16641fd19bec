"""The audit: acts of the console, and their senders."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.submission import JSON
from sluice.ledger.reads.audit_log import acts
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.paging import Paging, write_token
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.tenancy import INSTALLATION


class Act(Struct, frozen=True, kw_only=True):
    """Act of a sender. ``target`` is its object."""

    at: datetime
    actor: str
    action: str
    target: Mapping[str, JSON]
    result: Mapping[str, JSON]


class Acts(Struct, frozen=True):
    audit: Sequence[Act]
    next: str | None


def audit(console: ConsoleContext, asked: CallArguments[Paging, NoParameters]) -> Acts:
    before, limit = asked.query.before, asked.query.limit
    found = console.ask(lambda tx: acts(tx, before=before, limit=limit))
    told = [
        Act(at=each.at, actor=each.actor, action=each.action, target=each.target, result=each.result)
        for each in found
    ]
    return Acts(told, write_token(found[-1].id) if len(found) == limit else None)


ROUTES = (
    Route(
        method="GET",
        path="/api/audit",
        call=audit,
        summary="Acts of the console and their senders, the newest first",
        answers=Acts,
        tenancy=INSTALLATION,
        query=Paging,
    ),
)
