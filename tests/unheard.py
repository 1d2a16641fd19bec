"""A server that nobody may connect to."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def unheard() -> Iterator[str]:
    """Where it is: elsewhere, by its address, which leads here all the same. By the end nobody has connected."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield f"0.0.0.0:{server.getsockname()[1]}"
        with pytest.raises(BlockingIOError):
            server.accept()
