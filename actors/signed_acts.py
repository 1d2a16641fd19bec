"""Audit of acts by signed messages: the id of the key is recorded in the transaction of the act.

Submissions have their own entries (``planner.admission``), because one message may have thousands. Without keys there
is no entry: the sender of an unsigned message is unknown.
"""

from collections.abc import Mapping

from sluice.actors import audit_results
from sluice.actors.audit_results import NAMED_MAX, Reading, audited
from sluice.broker.messages import Cancel, ExternalRequest, Landed, Message, Pause, Resume
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.ledger.database.connection import Ledger
from sluice.ledger.stats.audit import key_holder


def recording(ledger: Ledger, message: Message) -> Ledger:
    """Return the ledger for the handler of this message. It also records the act if a key has signed the message."""
    act = _act(message)
    if act is None or not isinstance(message, ExternalRequest) or message.signed_by is None:
        return ledger
    return ledger.beside(audited(key_holder(message.signed_by), *act))


def _act(message: Message) -> tuple[str, Mapping[str, JSON], Reading] | None:
    """Return the action, its object and the reading of its outcome. The names are the ones of the commands."""
    about: dict[str, JSON]
    reading: Reading
    match message:
        case Cancel(submission=str() as id_):
            action, about, reading = "cancel", {"submission": id_}, audit_results.cancelled
        case Cancel(app=str() as app, key=str() as key):
            action, about = "cancel", {"app": app, "key": key}
            reading = audit_results.job_cancelled(JobName(app, key))
        case Pause(submission=id_):
            action, about, reading = "pause", {"submission": id_}, audit_results.paused
        case Resume(app=str() as app, key=str() as key, event=event):
            action, about, reading = "resume", {"app": app, "key": key, "event": event}, audit_results.heard
        case Resume(submission=str() as id_):
            action, about, reading = "resume", {"submission": id_}, audit_results.resumed
        case Landed(table=table, partitions=texts):
            action, about = "land", {"table": table, "partitions": [*texts[:NAMED_MAX]]}
            reading = audit_results.landed
        case _:
            return None
    return action, about, reading
