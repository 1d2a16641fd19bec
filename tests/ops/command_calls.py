"""Call ``sluice`` inside the test process as if it were a process of its own."""

import io
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from unittest.mock import patch

from sluice.ops.cli.main import main


class Said(NamedTuple):
    """Result of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """All of stdout as one JSON document."""
        return json.loads(self.out)


def call(words: Sequence[str], *, folder: Path, environment: Mapping[str, str], given: str = "") -> Said:
    """Run one command to its end, with its own folder, environment and standard streams.

    State that would end with a process is restored: loaded modules of that folder, ``sys.path``, log handlers and the
    handler of SIGINT.
    """
    with (
        patch.dict(os.environ, environment, clear=True),
        _working_in(folder),
        _interruptible(),
        _own_logging(),
        _streams(given) as (out, err),
    ):
        code = main([*words])
        return Said(code, _text(out), _text(err))


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before, path = Path.cwd(), [*sys.path]
    os.chdir(folder)
    sys.path.insert(0, str(folder))  # As ``python -m`` does.
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name, module in [*sys.modules.items()]:
            if str(getattr(module, "__file__", "") or "").startswith(str(folder)):
                del sys.modules[name]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Handle SIGINT as a command in a terminal does. A test runner in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _own_logging() -> Iterator[None]:
    """Set the log handlers of the test run aside, and remove the command's handlers afterwards."""
    loggers = [
        logging.getLogger(),
        *map(logging.getLogger, ("pika", "sluice.job", "alembic.runtime.plugins")),
    ]
    levels = [each.level for each in loggers]
    handlers = [*logging.root.handlers]
    for each in handlers:
        logging.root.removeHandler(each)  # ``basicConfig(force=True)`` would close them.
    try:
        yield
    finally:
        for each in [*logging.root.handlers]:
            logging.root.removeHandler(each)
        for each in handlers:
            logging.root.addHandler(each)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _streams(given: str) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Replace descriptors 0 to 2 and their Python objects by files, so that the output of child processes is captured
    too.
    """
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(given.encode())
        source.seek(0)
        before = [os.dup(number) for number in range(3)]
        objects = sys.stdin, sys.stdout, sys.stderr
        try:
            for number, file in enumerate((source, out, err)):
                os.dup2(file.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = (
                io.TextIOWrapper(os.fdopen(number, mode, closefd=False), "utf8", line_buffering=number == 2)
                for number, mode in enumerate(("rb", "wb", "wb"))
            )
            try:
                yield out, err
            finally:
                for each in (sys.stdin, sys.stdout, sys.stderr):
                    each.close()
        finally:
            sys.stdin, sys.stdout, sys.stderr = objects
            for number, descriptor in enumerate(before):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _text(file: BinaryIO) -> str:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    file.seek(0)
    return file.read().decode()
