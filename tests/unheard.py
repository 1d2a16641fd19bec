"""A server to which no process may connect."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def unheard() -> Iterator[str]:
    """Yield the address of a server. Its address looks like a remote one, but leads to this machine.

    At the end, assert that no process has connected.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield f"0.0.0.0:{server.getsockname()[1]}"
        with pytest.raises(BlockingIOError):
            server.accept()
