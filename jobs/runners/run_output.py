"""Output of a run in a thread of the worker: everything that its code prints, logs and warns about.

``RunOutput`` collects the text of one run. It is the current run (a ``ContextVar``) of the thread that runs the job,
of the threads that the job starts, and of the tasks that it submits to a thread pool. ``captured_runs`` sends text that
is written in such a thread to the run:

- ``sys.stdout`` and ``sys.stderr``, so also ``print`` and ``warnings``. The output has both, in the order of writing.
- log records of all loggers except Sluice's own, in the format of ``job.log``

Outside of a run the streams and the loggers behave as before.

Limitations: a process that the job starts, and a library in C, write to the descriptors of the worker. A thread that
was not started by ``threading.Thread`` has no current run. A thread that several jobs share, and that is not of a
``ThreadPoolExecutor``, belongs to the job that started it until that job ends.
"""

import codecs
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock, Thread, get_ident
from typing import Any, Literal, Self, TextIO, cast

from msgspec.structs import replace

from sluice.jobs.model.job import NO_ECHO, Echo, Outcome
from sluice.jobs.observe.log_context import Speaking, spoken_of
from sluice.jobs.runners.output import Excerpt, log_line

#: Bytes of an unfinished line that wait for its end: 8 KiB. A longer one is written in pieces, because a job may print
#: any amount without a line end.
LINE_BYTES_MAX = 8 * 1024

_CURRENT: ContextVar["RunOutput | None"] = ContextVar("run_output", default=None)


def current_run() -> "RunOutput | None":
    """Return the run that this thread works for. None if there is none, or if it has ended."""
    run = _CURRENT.get()
    return run if run is not None and run.is_open else None


class RunOutput:
    """Output of one run, and a context manager: within the block, this thread works for the run.

    Lines of several threads do not mix. The beginning of a line waits until the thread has written its end or flushes.
    The lock is reentrant, because a finalizer that prints may run in the middle of ``write``.
    """

    def __init__(self, echo: Echo = NO_ECHO) -> None:
        self.is_open = True
        self.subject = spoken_of()
        self._echo = echo.stdout
        self._output = Excerpt()
        self._stderr = Excerpt()
        self._begun: dict[int, bytes] = {}
        self._lock = RLock()
        if echo.texts is not None:
            echo.texts(self._output, self._stderr)

    def __enter__(self) -> Self:
        self._token = _CURRENT.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)
        with self._lock:
            self.is_open = False
            for begun in self._begun.values():
                self._output.add(begun)
            self._begun.clear()

    def write(self, content: bytes, *, is_stderr: bool = False) -> None:
        """Add printed text."""
        with self._lock:
            if is_stderr:
                self._stderr.add(content)
            content = self._begun.pop(get_ident(), b"") + content
            whole, end, rest = content.rpartition(b"\n")
            if len(rest) > LINE_BYTES_MAX:
                whole, end, rest = content, b"", b""
            if whole or end:
                self._output.add(whole + end)
            if rest:
                self._begun[get_ident()] = rest

    def flush(self) -> None:
        """Add the unfinished line of this thread."""
        with self._lock:
            self._output.add(self._begun.pop(get_ident(), b""))

    def log(self, line: str) -> None:
        """Add a line of ``job.log``. An unfinished line of this thread stays unfinished."""
        content = line.encode("utf-8", "replace")
        self._output.add(content)
        if self._echo is not None:
            self._echo(content)

    def record(self, line: str) -> None:
        """Add a line of another logger, which the worker's own log shows, too."""
        self._output.add(line.encode("utf-8", "replace"))

    def text(self) -> str:
        """Return the kept output so far, without unfinished lines."""
        return self._output.text()

    def of(self, outcome: Outcome) -> Outcome:
        """Return the outcome of the run with its output."""
        return replace(outcome, output=self._output.text(), stderr=self._stderr.text())


class WorkingFor:
    """Context manager: within the block, this thread works for the given run, or for none."""

    def __init__(self, run: RunOutput | None) -> None:
        self._run = run
        self._speaking = Speaking(run.subject if run else None)

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self._run)
        self._speaking.__enter__()

    def __exit__(self, *_: object) -> None:
        if self._run is not None and self._run.is_open:
            self._run.flush()
        self._speaking.__exit__()
        _CURRENT.reset(self._token)


@contextmanager
def outside_of_runs() -> Iterator[None]:
    """Within the block, this thread writes to the streams of the process, for example a line of the worker's log."""
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def shown() -> Echo:
    """Return an echo that writes the output of a run to the streams of the process while it runs."""
    return Echo(_writer("stdout"), _writer("stderr"))


def _writer(name: Literal["stdout", "stderr"]) -> Callable[[bytes], object]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(content: bytes) -> None:
        stream = getattr(sys, name)  # A display may replace it during the run.
        with outside_of_runs():
            stream.write(decoder.decode(content))
            stream.flush()

    return write


@contextmanager
def captured_runs(*, passes_on: bool) -> Iterator[None]:
    """While the block lasts, text that a run in this process writes belongs to the run, and so do log records from
    ``INFO`` on.

    With ``passes_on``, printed text also goes to the stream of the process.
    """
    root = logging.getLogger()
    level, is_outermost = root.level, _HANDLER not in root.handlers
    if is_outermost:
        root.addHandler(_HANDLER)
        root.setLevel(min(level, logging.INFO))
        Thread.start = _start  # type: ignore[assignment,method-assign] # A thread inherits the run of its starter.
        ThreadPoolExecutor.submit = _submit  # type: ignore[assignment,method-assign] # So does a task of a pool.
    try:
        with captured_streams(passes_on=passes_on):
            yield
    finally:
        if is_outermost:
            root.removeHandler(_HANDLER)
            root.setLevel(level)
            Thread.start = _THREAD_START  # type: ignore[method-assign] # It was replaced above.
            ThreadPoolExecutor.submit = _POOL_SUBMIT  # type: ignore[method-assign] # It was replaced above.


@contextmanager
def captured_streams(*, passes_on: bool) -> Iterator[None]:
    """Put streams that belong to the current run in front of the present ones. A display that has replaced these
    needs that again.
    """
    before = sys.stdout, sys.stderr
    sys.stdout = cast(TextIO, RunStream(before[0], is_stderr=False, passes_on=passes_on))
    sys.stderr = cast(TextIO, RunStream(before[1], is_stderr=True, passes_on=passes_on))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class RunStream:
    """Text stream in front of another one, which handles everything that this class does not."""

    def __init__(self, stream: TextIO, *, is_stderr: bool, passes_on: bool) -> None:
        self._stream = stream
        self._is_stderr = is_stderr
        self._passes_on = passes_on

    def write(self, text: str) -> int:
        run = current_run()
        if run is None:
            return self._stream.write(text)
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        run.write(text.encode("utf-8", "replace"), is_stderr=self._is_stderr)
        if self._passes_on:
            with outside_of_runs():
                self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        run = current_run()
        if run is not None:
            run.flush()
        if run is None or self._passes_on:
            with outside_of_runs():
                self._stream.flush()

    def isatty(self) -> bool:
        """Return False within a run: its output is stored, so progress bars and colours are of no use."""
        return current_run() is None and self._stream.isatty()

    def close(self) -> None:
        """Close the stream. A run cannot close the streams of its worker."""
        if current_run() is None:
            self._stream.close()

    @property
    def buffer(self) -> Any:
        """Stream of bytes. Within a run, they belong to the run like the text."""
        return self._stream.buffer if current_run() is None else _RunBytes(self)

    def write_bytes(self, content: bytes) -> None:
        """Write bytes within a run."""
        run = current_run()
        if run is not None:
            run.write(content, is_stderr=self._is_stderr)
        if run is None or self._passes_on:
            with outside_of_runs():
                self._stream.buffer.write(content)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _RunBytes:
    """``buffer`` of a stream within a run."""

    def __init__(self, stream: RunStream) -> None:
        self._stream = stream

    def write(self, content: bytes) -> int:
        self._stream.write_bytes(bytes(content))
        return len(content)

    def flush(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        with outside_of_runs():
            return getattr(self._stream.buffer, name)


class _RunLog(logging.Handler):
    """Handler that adds log records to the output of the current run. ``job.log`` adds its own lines."""

    def createLock(self) -> None:  # noqa: N802  # The name of the standard library.
        """Create no lock, because the output has one. A lock here would make all jobs wait for each other."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        run = current_run()
        if run is None or record.name.partition(".")[0] == "sluice":
            return
        try:
            run.record(log_line(record, f"{record.name}: {self.format(record)}"))
        except Exception:
            self.handleError(record)


# What a forked process adds to its copy of an output would be lost, so it writes to the streams of the worker.
os.register_at_fork(after_in_child=lambda: _CURRENT.set(None))

_HANDLER = _RunLog()
_THREAD_START = Thread.start
_POOL_SUBMIT = ThreadPoolExecutor.submit


def _start(thread: Thread) -> None:
    """Start a thread that works for the run of the thread that starts it."""
    run = current_run()
    if run is not None:
        work = thread.run

        def work_for_the_run() -> None:
            # The attribute would keep the thread in a reference cycle.
            del thread.run
            with WorkingFor(run):
                work()

        thread.run = work_for_the_run  # type: ignore[method-assign] # Other ways to get into the thread are private.
    _THREAD_START(thread)


def _submit(
    pool: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **named: Any
) -> Future[Any]:
    """Submit a task that works for the run of the thread that submits it, whichever run started the pool's thread."""
    return _POOL_SUBMIT(pool, _task, current_run(), function, *args, **named)


def _task(run: RunOutput | None, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    with WorkingFor(run):
        return function(*args, **named)
