"""Events for sagas, by a message or by a client: the event that a saga waits for, or only an order to go on."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from sluice.actors.dispatch import announce
from sluice.actors.planner.pauses import go_on
from sluice.broker.messages import Message, Resume
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadMessage, BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.request_limits import unfit
from sluice.jobs.sagas.answers import check_event
from sluice.jobs.text.json_value import as_json
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.sagas import events
from sluice.ledger.sagas.events import EventOutcome, EventRequest
from sluice.ledger.stats.audit import key_holder
from sluice.planner.keyspaces.choose import keyspace_of

_BY_MESSAGE = "message"
#: Maximum length of an event's id, the same as of a message's id.
ID_CHARS_MAX = 200


class EventResult(NamedTuple):
    became: EventOutcome
    messages: Sequence[Message]


def resume(ledger: Ledger, catalogue: Catalogue, message: Resume) -> Sequence[Message]:
    """Resume a paused submission, or deliver an event to a job."""
    match message:
        case Resume(submission=str() as submission, app=None, key=None, event=None, payload=None):
            found = go_on(ledger, submission)
            return found.messages if found else []
        case Resume(submission=None, app=str() as app, key=str() as key):
            return _hear(ledger, catalogue, JobName(app, key), message)
    raise BadMessage("A resume message names a submission, or an app and a key, with an event or without.")


def _hear(ledger: Ledger, catalogue: Catalogue, name: JobName, message: Resume) -> Sequence[Message]:
    token = message.id or str(uuid4())
    by = key_holder(message.signed_by) if message.signed_by else _BY_MESSAGE
    said = EventRequest(name=message.event, payload=message.payload, by=by, token=token)
    try:
        return send_event(ledger, catalogue, name, said).messages
    except BadRequest as error:
        raise BadMessage(error.what, where=error.where, advice=error.advice) from error


def send_event(
    ledger: Ledger,
    catalogue: Catalogue | None,
    name: JobName,
    said: EventRequest,
    *,
    may_be_early: bool = True,
) -> EventResult:
    """Deliver an event to a job that has not ended. If the job does not exist yet, the event is kept for it.

    BadRequest if the job could never wait for an event. Without definitions that is unknown, so the job has to exist.
    """
    said = _sound(said)
    app = None if catalogue is None else catalogue.get(name.app)
    if app is not None and catalogue is not None:
        if app.saga is None:
            raise BadRequest(f"{app.name} is no saga, so its jobs wait for no events.", where=app.origin)
        name = JobName(app.name, keyspace_of(app, catalogue).canonical(app, name.key))

    def work(tx: Tx) -> tuple[events.EventDelivery, Sequence[Message]]:
        came = events.deliver(tx, name, said, may_be_early=may_be_early and app is not None)
        return came, announce(tx, came.ready)

    came, messages = ledger.transact(work)
    if came.became is EventOutcome.UNKNOWN:
        raise BadRequest(
            f"The ledger has no job {name}.",
            advice="A message or a client may send an event before its job exists, if the app is known to be a saga.",
        )
    if came.became is EventOutcome.TOO_LATE:
        raise BadRequest(f"{name} is {came.state}; it does not wait for an event any more.")
    return EventResult(came.became, messages)


def _sound(said: EventRequest) -> EventRequest:
    """Return a checked event. BadRequest if the ledger cannot store it. A message was checked more strictly before, a
    client's values were not."""
    try:
        name = None if said.name is None else check_event(said.name)
        payload = as_json(said.payload)
        if reason := unfit(msgspec.json.encode(payload)):
            raise ValueError(f"its payload is refused. {reason.rstrip('.')}")
        return replace(said, name=name, payload=payload, token=_check_id(said.token))
    except ValueError as error:
        raise BadRequest(f"The event cannot be kept: {error}.") from None


def _check_id(id: str) -> str:
    if not 0 < len(id) <= ID_CHARS_MAX:
        raise ValueError(f"{id!r:.80} is not the id of an event; an id has 1 to {ID_CHARS_MAX} characters")
    as_json(id)
    return id
