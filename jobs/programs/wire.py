"""Connection on which no wait exceeds its patience, even if the peer is slow or silent."""

import errno
import io
import os
import select
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from sluice.jobs.programs.hosts import addresses_of, check_address
from sluice.jobs.programs.patience import Patience
from sluice.jobs.programs.unfit import Away, reason_of

T = TypeVar("T")
#: Seconds to wait for an address before the next one is tried.
CONNECT_S: Final = 10.0

Buffer: TypeAlias = bytearray | memoryview


class Wire:
    """The socket methods that ``http.client`` needs. Each wait checks the patience, so a slow peer cannot exceed it."""

    def __init__(self, connection: socket.socket, patience: Patience) -> None:
        self._socket = connection
        self._patience = patience

    def receive(self, buffer: Buffer) -> int:
        return self._until_done(lambda: self._socket.recv_into(buffer))

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._until_done(partial(self._socket.send, view)) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Received(self))

    def encrypt(self, host: str, context: ssl.SSLContext) -> None:
        wrapped = context.wrap_socket(self._socket, server_hostname=host, do_handshake_on_connect=False)
        self._socket = wrapped
        self._until_done(wrapped.do_handshake)

    def close(self) -> None:
        """Do nothing. ``http.client`` calls this before the response is read. The caller of ``connect`` must call
        ``cut``.
        """

    def cut(self) -> None:
        self._socket.close()

    def _until_done(self, act: Callable[[], T]) -> T:
        while True:
            wait_s = self._patience.look_s()
            try:
                return act()
            except (ssl.SSLWantReadError, BlockingIOError):
                _wait(self._socket, select.POLLIN, wait_s)
            except ssl.SSLWantWriteError:
                _wait(self._socket, select.POLLOUT, wait_s)


class _Received(io.RawIOBase):
    """Received bytes of a wire, as a file."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # as wide as its parent has it
        return self._wire.receive(buffer)


def connect(host: str, port: int, hosts: tuple[str, ...], patience: Patience) -> Wire:
    """Connect to the first address of the host that answers. Only checked addresses are tried.

    The addresses are resolved once and connected to as numbers, so a name that changes a moment later has no effect.
    Away if no address answers.
    """
    why = "it has no address"
    for family, address in addresses_of(host, port, hosts, patience):
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # A machine without IPv6 may still get IPv6 addresses.
            why = reason_of(error)
            continue
        try:
            connection.settimeout(0)
            _reach(connection, address, port, patience)
            check_address(host, str(connection.getpeername()[0]), hosts)
            return Wire(connection, patience)
        except OSError as error:
            connection.close()
            why = reason_of(error)
        except BaseException:
            connection.close()
            raise
    raise Away(f"the host {host} does not answer: {why}")


def _reach(connection: socket.socket, address: str, port: int, patience: Patience) -> None:
    try:
        connection.connect((address, port))
    except BlockingIOError:
        until = time.monotonic() + CONNECT_S
        while not _wait(connection, select.POLLOUT, patience.look_s()):
            if time.monotonic() >= until:
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)) from None
    error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


def _wait(connection: socket.socket, event: int, wait_s: float) -> bool:
    """Wait for the event and return whether it happened. ``select`` refuses descriptors above a thousand."""
    poll = select.poll()
    poll.register(connection, event)
    return bool(poll.poll(1000 * wait_s))
