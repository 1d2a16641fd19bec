"""Notifications: deliveries of events to their receivers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from sluice.actors import audit_results
from sluice.jobs.errors import BadRequest
from sluice.jobs.notifications.rules import JobEvent
from sluice.ledger.database.connection import Tx
from sluice.ledger.notifications.dead_letters import delivery_counts, send_again
from sluice.ledger.notifications.delivery_lists import DeliveryState, ListedDelivery, deliveries
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.paging import Paging, write_token
from sluice.ops.console.route import CallArguments, NoParameters, Route, action
from sluice.ops.console.tenancy import NARROWED, listed
from sluice.ops.operations.job_names import job_of


class Wanted(Paging, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Page of deliveries: of the events of this job (APP/KEY), and in this state."""

    job: str | None = None
    state: DeliveryState | None = None


class DeliveryDocument(Struct, frozen=True, kw_only=True):
    """Delivery of an event to a receiver. ``id`` is the id of the event. ``receiver`` has neither the path nor the
    query of a URL, and references instead of secrets. ``state_at`` is the time at which it was delivered or given up.
    For a pending delivery it is the time of the next attempt. ``submission`` is null for a rule of a definition.
    """

    id: UUID
    event: JobEvent
    at: datetime
    app: str
    key: str
    submission: str | None
    receiver: str
    state: DeliveryState
    attempts: int
    error: str | None
    state_at: datetime


class Notifications(Struct, frozen=True, kw_only=True):
    """Page of deliveries. ``pending`` and ``dead`` count those of all jobs, and ``pending`` also the events whose
    receivers are not determined yet.
    """

    notifications: Sequence[DeliveryDocument]
    next: str | None
    pending: int
    dead: int


class Resend(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Events to send again whose delivery was given up: those with these ids, or with ``all`` each of them."""

    ids: Annotated[tuple[UUID, ...], Meta(max_length=500)] = ()
    all: bool = False


class Resent(Struct, frozen=True):
    """Number of deliveries that are attempted again."""

    again: int


def notifications(console: ConsoleContext, asked: CallArguments[Wanted, NoParameters]) -> Notifications:
    query = asked.query
    job = None if query.job is None else job_of(console.context, query.job)

    def read(tx: Tx) -> Notifications:
        apps = asked.reach.listed
        found = deliveries(tx, job=job, state=query.state, apps=apps, before=query.before, limit=query.limit)
        counts = delivery_counts(tx, apps)
        return Notifications(
            notifications=[_document(each) for each in found],
            next=write_token(found[-1].number) if len(found) == query.limit else None,
            pending=counts.pending,
            dead=counts.dead,
        )

    return console.ask(read)


def retry(console: ConsoleContext, asked: CallArguments[NoParameters, Resend]) -> Resent:
    """Send events again. Deliveries that were not given up stay as they are."""
    ids = asked.body.ids
    if bool(ids) == asked.body.all:
        raise BadRequest(
            "Name the events by `ids`, or set `all`.", advice="GET /api/notifications lists them."
        )
    about = {"all": True} if asked.body.all else {"events": [str(each) for each in ids]}
    ledger = console.ledger_doing(asked.who, "notifications retry", about, audit_results.sent_again)
    return Resent(ledger.transact(lambda tx: send_again(tx, ids or None, asked.reach.listed)))


def _document(each: ListedDelivery) -> DeliveryDocument:
    return DeliveryDocument(
        id=each.event_id,
        event=each.event,
        at=each.at,
        app=each.app,
        key=each.key,
        submission=each.submission,
        receiver=each.target.label,
        state=each.state,
        attempts=each.attempts,
        error=each.error,
        state_at=each.state_at,
    )


_PATH = "/api/notifications"
ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        call=notifications,
        summary="Deliveries of events to their receivers, the newest first",
        answers=Notifications,
        tenancy=listed("notifications"),
        query=Wanted,
    ),
    action(
        f"{_PATH}/retry",
        retry,
        "Send events again after their delivery was given up",
        answers=Resent,
        tenancy=NARROWED,
        body=Resend,
    ),
)
