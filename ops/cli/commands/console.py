"""``sluice console``: the calls of messages by HTTP, until it is told to stop."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Thread

from jobs.errors import BadSetting
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.page import Line
from ops.cli.stopping import told_to_stop
from ops.console.calls import answer
from ops.console.server import Server, read_place


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        default="127.0.0.1:8484",
        metavar="HOST:PORT",
        help="%(default)s if not given; another machine's requests need SLUICE_CONSOLE_TOKEN",
    )


def run(desk: Desk, options: Options) -> int:
    place, token = read_place(options.listen), desk.settings.console_token
    if token is None and not place.is_loopback:
        raise BadSetting(
            f"At {place} others could ask, and there is no token.",
            advice="Set SLUICE_CONSOLE_TOKEN, or listen at 127.0.0.1.",
        )
    client = Installation(desk).client
    server = Server(place, partial(answer, client, token=token))
    with told_to_stop() as stop, _served(server):
        desk.output.say(Line(f"Listening at {server.place}. Ctrl-C ends it."))
        stop.wait()
    desk.output.answer({"listened": str(server.place)}, Line("Stopped."))
    return DONE


@contextmanager
def _served(server: Server) -> Iterator[None]:
    """Requests are answered for as long as the block lasts."""
    thread = Thread(target=server.serve_forever, name="sluice-console")
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
