"""A console that is served beside whatever else its process does."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from actors.settings import Settings
from jobs.errors import BadSetting
from ops.console.answering import Answering
from ops.console.calls.routes import ROUTES
from ops.console.files import Files
from ops.console.gate import Gate
from ops.console.office import Office
from ops.console.server import Place, Server
from ops.desk.desk import Desk
from ops.desk.installation import Installation


def gate_for(place: Place, settings: Settings) -> Gate:
    """BadSetting where others could reach it and nobody has to show a token."""
    gate = Gate(settings.console_token, settings.console_view_token)
    if not gate.needs_token and not place.is_loopback:
        raise BadSetting(
            f"At {place} others could ask, and there is no token.",
            advice="Set SLUICE_CONSOLE_TOKEN, or listen at 127.0.0.1.",
        )
    return gate


@contextmanager
def console(desk: Desk, installation: Installation, place: Place, gate: Gate) -> Iterator[Server]:
    """Requests are answered for as long as the block lasts. BadSetting where nobody can listen there."""
    office = Office(desk, installation)
    office.open()
    answering = Answering(office, gate, ROUTES, Files())
    server = Server(place, answering.answer, answering.refuse)
    thread = Thread(target=server.serve_forever, name="sluice-console")
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        office.streams.close()
        server.server_close()
        thread.join()
