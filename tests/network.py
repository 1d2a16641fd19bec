"""A network of a process's own, in which nothing but itself and its children is, and which it may cut off."""

import fcntl
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest

from sluice.ledger import migrate
from sluice.ledger.embedded import settings, sockets, start

#: What ends well takes half a minute.
S_MAX = 400
_ALONE = ["unshare", "--net", "--"]

_IT = b"lo"
_GET, _SET = 0x8913, 0x8914  # SIOCGIFFLAGS, SIOCSIFFLAGS
_UP = 1
_REQUEST = struct.Struct("16sh14x")


class Urls(NamedTuple):
    """Of one ledger: by a file, and by the network."""

    near: str
    far: str


def runs_alone(module: str, *words: str) -> None:
    """As ``python -m``, in such a network; there it has to end well."""
    if not _may_be_alone():
        pytest.skip("a network of one's own takes Linux, and the right to make one")
    command = [*_ALONE, sys.executable, "-m", module, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=S_MAX, check=False)
    assert done.returncode == 0, done.stderr


def _may_be_alone() -> bool:
    if shutil.which(_ALONE[0]) is None:
        return False
    return not subprocess.run([*_ALONE, "true"], capture_output=True, check=False).returncode


def carry(whether: bool) -> None:
    """Whether what is said to 127.0.0.1 arrives. Where it does not, nobody says so. To begin with it does not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _, flags = _REQUEST.unpack(fcntl.ioctl(any_socket, _GET, _REQUEST.pack(_IT, 0)))
        flags = flags | _UP if whether else flags & ~_UP
        fcntl.ioctl(any_socket, _SET, _REQUEST.pack(_IT, flags))


@contextmanager
def ledger_on_it(home: Path) -> Iterator[Urls]:
    """One that can be had by the network too, which the embedded one cannot."""
    with patch.dict(settings.ALWAYS, listen_addresses="127.0.0.1"), start(home, durable=False) as postgres:
        migrate.upgrade(postgres.url)
        parts = urlsplit(postgres.url)
        far = parts._replace(netloc=f"{parts.netloc}127.0.0.1:{sockets.PORT}", query="").geturl()
        yield Urls(near=postgres.url, far=far)
