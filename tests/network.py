"""A network namespace for one process and its children, which the process may cut off."""

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

from sluice.ledger.embedded import directory, settings, start
from sluice.ledger.schema import migrate

#: Seconds after which a run counts as failed. A successful one takes half a minute.
S_MAX = 400
_ALONE = ["unshare", "--net", "--"]

_IT = b"lo"
_GET, _SET = 0x8913, 0x8914  # SIOCGIFFLAGS, SIOCSIFFLAGS
_UP = 1
_REQUEST = struct.Struct("16sh14x")


class Urls(NamedTuple):
    """Addresses of one ledger: by a socket file, and by the network."""

    near: str
    far: str


def runs_alone(module: str, *words: str) -> None:
    """Run ``python -m`` in a network of its own, and fail if it fails there."""
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
    """Set whether packets to 127.0.0.1 arrive. Without that, they are lost silently. At first they are lost."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _, flags = _REQUEST.unpack(fcntl.ioctl(any_socket, _GET, _REQUEST.pack(_IT, 0)))
        flags = flags | _UP if whether else flags & ~_UP
        fcntl.ioctl(any_socket, _SET, _REQUEST.pack(_IT, flags))


@contextmanager
def ledger_on_it(home: Path) -> Iterator[Urls]:
    """Start a ledger that is reachable by the network, too. The usual embedded ledger is not."""
    with patch.dict(settings.ALWAYS, listen_addresses="127.0.0.1"), start(home, durable=False) as postgres:
        migrate.upgrade(postgres.url)
        parts = urlsplit(postgres.url)
        far = parts._replace(netloc=f"{parts.netloc}127.0.0.1:{directory.PORT}", query="").geturl()
        yield Urls(near=postgres.url, far=far)
