"""What is done with one job."""

from msgspec import Struct

from jobs.ref import JobName
from jobs.submission import JSON
from ledger.events import Became
from ops.console.gate import Role
from ops.console.office import Office
from ops.console.route import Asked, Nothing, Route

#: Who says so, in a saga's record.
BY = "the console"


class Event(Struct, frozen=True, forbid_unknown_fields=True):
    """Without an ``event`` it says that the saga goes on, whatever it waits for."""

    event: str | None = None
    payload: JSON = None


class Heard(Struct, frozen=True, kw_only=True):
    app: str
    key: str
    event: str | None
    became: Became


def resume(office: Office, asked: Asked[Nothing, Event]) -> Heard:
    name, said = JobName(*asked.words), asked.body
    became = office.client.resume_job(name, said.event, payload=said.payload, by=BY)
    return Heard(app=name.app, key=name.key, event=said.event, became=became)


_PATH = "/api/jobs/{app}/{key}"
ROUTES = (
    Route(
        method="POST",
        path=f"{_PATH}/resume",
        call=resume,
        summary="Tell a saga what it waits for, or that it goes on",
        answers=Heard,
        body=Event,
        role=Role.OPERATE,
    ),
)
