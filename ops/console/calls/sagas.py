"""Sagas that are under way, or could not be undone."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict

from jobs.sagas.entry import Direction, Mark
from jobs.states import State
from ledger.reads.aloft import aloft
from ops.console.office import Office
from ops.console.paging import Paging, write_token
from ops.console.route import Asked, Nothing, Route


class Saga(Struct, frozen=True, kw_only=True):
    """``step`` (of ``steps``), its ``name``, ``direction`` and ``mark`` are of the last entry of the journal, none
    before there is one. It waits for ``event``, ``until`` then where that has an end."""

    app: str
    key: str
    state: State
    direction: Direction | None
    step: int | None
    steps: int | None
    name: str | None
    mark: Mark | None
    event: str | None
    since: datetime
    until: datetime | None
    turn_back: str | None


class Sagas(Struct, frozen=True):
    sagas: Sequence[Saga]
    next: str | None


def sagas(office: Office, asked: Asked[Paging, Nothing]) -> Sagas:
    before, limit = asked.query.before, asked.query.limit
    found = office.ask(lambda tx: aloft(tx, before=before, limit=limit))
    told = [{word: value for word, value in asdict(each).items() if word != "id"} for each in found]
    return Sagas([Saga(**each) for each in told], write_token(found[-1].id) if len(found) == limit else None)


ROUTES = (
    Route(
        method="GET",
        path="/api/sagas",
        call=sagas,
        summary="Sagas that are under way, wait, or could not be undone",
        answers=Sagas,
        query=Paging,
    ),
)
