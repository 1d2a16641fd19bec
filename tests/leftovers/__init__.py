"""Clean-up after a test run: a *reaper* process removes its remains, however the run ends.

The run has a mark in its environment and one folder for all temporary files. Every program that it starts inherits the
mark; a fork of the run's own process does not. The reaper waits for the run to end. Then it kills the processes with
that mark, and executes the undo commands that are still registered, for example to delete a virtual host. Finally it
removes the folder.

    with run_without_leftovers():
        ...                         # TMPDIR is the run's folder
        with undone_by("rabbitmqctl", "delete_vhost", name):
            ...
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple
from uuid import uuid4

from tests.leftovers import reaper

#: Names that do not begin with SLUICE_, because tests remove such variables from the environment of their processes.
MARK, FOLDER = "TEST_RUN_MARK", "TEST_RUN_FOLDER"


class Run(NamedTuple):
    folder: Path
    #: False inside of another run, of which this is a part, for example a worker of pytest-xdist.
    is_outermost: bool


@contextmanager
def run_without_leftovers() -> Iterator[Run]:
    """Run the block with a reaper, and yield the run.

    SIGTERM and SIGHUP interrupt it like SIGINT. It then has 20 s to end by itself.
    """
    if FOLDER in os.environ:
        yield Run(Path(os.environ[FOLDER]), is_outermost=False)
        return
    before = {name: os.environ.get(name) for name in (MARK, FOLDER, "TMPDIR")}
    # A short path, because the sockets of servers are below it, and a socket's path may have 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="sl-"))
    folder.chmod(0o711)  # Some servers run as other users.
    (folder / reaper.UNDO).mkdir()
    os.environ |= {MARK: uuid4().hex, FOLDER: str(folder), "TMPDIR": str(folder)}
    tempfile.tempdir = None  # It caches TMPDIR.
    process = _start_reaper(folder)
    try:
        with _interrupted_by_signals(folder):
            yield Run(folder, is_outermost=True)
    finally:
        (folder / reaper.OVER).touch()
        process.wait()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        tempfile.tempdir = None


@contextmanager
def undone_by(*command: str) -> Iterator[None]:
    """Run this command at the end of the block. If this process dies before, the reaper runs it."""
    undo = [*command]
    entry = Path(os.environ[FOLDER], reaper.UNDO, uuid4().hex) if FOLDER in os.environ else None
    if entry is not None:
        entry.write_text(json.dumps(undo))
    try:
        yield
    finally:
        subprocess.run(undo, capture_output=True, check=False)
        if entry is not None:
            entry.unlink(missing_ok=True)


def survivors(*, within_s: float = 10.0) -> list[str]:
    """Return the processes of this run that have not ended after a while, without this process and its reaper."""
    return reaper.survivors(os.environ[MARK], {os.getpid()}, within_s)


def _start_reaper(folder: Path) -> subprocess.Popen[bytes]:
    """Start the reaper in a session of its own, so that Ctrl-C does not reach it, and without streams of the caller.

    A caller might wait for the end of its streams.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", reaper.__file__, str(os.getpid()), os.environ[MARK], str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def _interrupted_by_signals(folder: Path) -> Iterator[None]:
    """Interrupt the run at SIGINT, SIGTERM or SIGHUP. The reaper then limits how long it takes to end."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        (folder / reaper.ENDING).touch()
        signal.default_int_handler(number, frame)

    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    heard = [number for number, handler in usual.items() if signal.getsignal(number) == handler]
    for number in heard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, usual[number])
