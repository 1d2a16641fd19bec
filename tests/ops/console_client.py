"""Client that sends requests to a console without a socket, on the ledger of a ``World``."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from sluice.actors.client import Client
from sluice.actors.settings.settings import Settings
from sluice.ops.console.access import AccessControl
from sluice.ops.console.calls.routes import ROUTES
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.dispatch import Answering
from sluice.ops.console.files import Files
from sluice.ops.console.http_message import Request, Response
from sluice.ops.console.server import ListenAddress, Server
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from tests.world import World

TOKEN = "the token of these tests"
HERE = {
    "host": "127.0.0.1:8484",
    "content-type": "application/json",
    "authorization": f"Bearer {TOKEN}",
}


def console_of(world: World, gate: AccessControl, *sources: str) -> Answering:
    """Return a console on the ledger of this world. Its client has the definitions of the world, and it has those of
    the sources."""
    desk = OperatorContext(Settings(ledger_url=world.url, apps=sources))
    installation = Installation(desk)
    client = Client(world.ledger, world.queue.extend, lambda: world.catalogue)
    installation.ledger, installation.client = world.ledger, client
    console = ConsoleContext(desk, installation)
    # Nothing closes the ledger that a console opens for its probes and metrics.
    console._apart.ledger = world.ledger
    return Answering(console, gate, ROUTES, Files())


class Asker:
    """Client of a console, without a socket."""

    def __init__(self, world: World, token: str = TOKEN) -> None:
        world.apps("a -> b")
        self.world = world
        self._console = console_of(world, AccessControl(token))

    def asks(
        self,
        path: str,
        document: Any = None,
        *,
        method: str = "POST",
        body: bytes | None = None,
        **headers: str,
    ) -> Response:
        told = {**HERE, **{name.replace("_", "-"): text for name, text in headers.items()}}
        sent = body if body is not None else b"" if document is None else json.dumps(document).encode()
        path, _, query = path.partition("?")
        request = Request(method=method, path=path, query=query, headers=told, body=sent)
        found = self._console.answer(request)
        self.world.deliver()
        return found


def told(answer: Response) -> Any:
    """Return the document in the body of an answer."""
    return json.loads(answer.body)


@contextmanager
def serving(
    answer: Callable[[Request], Response],
    refuse: Callable[[Request, int], Response | None] = lambda _, __: None,
    is_bounded: Callable[[Request], bool] = lambda _: False,
) -> Iterator[ListenAddress]:
    """Serve these answers on the sockets of a console."""
    server = Server(ListenAddress("127.0.0.1", 0), answer, refuse, is_bounded)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.place
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
