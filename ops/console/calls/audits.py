"""The audit: acts of the console, and their senders."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.submission import JSON
from sluice.ledger.reads.audit_log import acts
from sluice.ops.console.context import Office
from sluice.ops.console.paging import Paging, write_token
from sluice.ops.console.route import CallArguments, NoParameters, Route


class Act(Struct, frozen=True, kw_only=True):
    """Act of a sender. ``about`` names the object of the act, ``came_to`` its outcome."""

    at: datetime
    who: str
    did: str
    about: Mapping[str, JSON]
    came_to: Mapping[str, JSON]


class Acts(Struct, frozen=True):
    audit: Sequence[Act]
    next: str | None


def audit(office: Office, asked: CallArguments[Paging, NoParameters]) -> Acts:
    before, limit = asked.query.before, asked.query.limit
    found = office.ask(lambda tx: acts(tx, before=before, limit=limit))
    told = [
        Act(at=each.at, who=each.who, did=each.did, about=each.about, came_to=each.came_to) for each in found
    ]
    return Acts(told, write_token(found[-1].id) if len(found) == limit else None)


ROUTES = (
    Route(
        method="GET",
        path="/api/audit",
        call=audit,
        summary="Acts of the console and their senders, the newest first",
        answers=Acts,
        query=Paging,
    ),
)
