"""Other users of a home: separate processes, also one without privileges."""

import multiprocessing
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from sluice.ledger.embedded import EmbeddedUnavailable, server, start

ROOT_OF_CODE = Path(server.__file__).parents[3]
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
NOBODY = pwd.getpwnam("nobody")
USER = """
import sys
from pathlib import Path
from sluice.ledger.embedded import start
with start(Path(sys.argv[1]), durable=False) as postgres:
    print(postgres.url, flush=True)
    sys.stdin.read()
"""


def user(home: Path) -> subprocess.Popen[str]:
    """Start another process that uses the server until its input is closed."""
    return subprocess.Popen(
        [sys.executable, "-c", USER, home],
        env={**os.environ, "PYTHONPATH": str(ROOT_OF_CODE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@contextmanager
def killed_at_end(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    try:
        yield process
    finally:
        kill(process)


@contextmanager
def used_by_nobody(home: Path) -> Iterator[str]:
    """Use the server as an account without privileges. Yield the URL that it gets, or the error.

    The process is a fork, because the folders of this Python may be closed to other accounts.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=use_as_nobody, args=(home, theirs))
    process.start()
    try:
        assert ours.poll(30)
        yield ours.recv()
        ours.send("enough")
        process.join(30)
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()


def use_as_nobody(home: Path, pipe: Connection) -> None:
    os.setgroups(())
    os.setgid(NOBODY.pw_gid)
    os.setuid(NOBODY.pw_uid)
    try:
        with start(home, durable=False) as postgres:
            pipe.send(postgres.url)
            pipe.recv()
    except EmbeddedUnavailable as refusal:
        pipe.send(str(refusal))
