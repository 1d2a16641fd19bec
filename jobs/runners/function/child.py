"""Child process of one isolated function: read the errand, call the function, send the end. Only ``isolated`` starts
it.
"""

import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sluice.jobs.catalogue.sources.functions import find_object, resolve_function
from sluice.jobs.errors import BadRequest, SluiceError
from sluice.jobs.expansions import Expansion, ExpansionRequest
from sluice.jobs.model.job import Ending, Job, Outcome, OwnEnd
from sluice.jobs.runners.function.call import FunctionCall, account, perform
from sluice.jobs.runners.function.child_protocol import (
    Acknowledged,
    ChildProgress,
    Errand,
    Event,
    ExpansionWanted,
    FunctionEnded,
    LogLine,
    ResultAnswer,
    ResultsWanted,
    ResultWanted,
    SuccessRecorded,
    read_at_start,
)
from sluice.jobs.runners.function.spark_session import missing_spark, perform_on_spark
from sluice.jobs.runners.function.started_hooks import StartedHooks
from sluice.jobs.runners.output import job_log, legible, log_line
from sluice.jobs.runners.run_outcome import failed


def main() -> None:
    errand_fd, answers_fd, events_fd = map(int, sys.argv[1:])
    errand = _read(errand_fd)
    voice = _Voice(events_fd)
    outcome = _run(errand, voice, _AskedWorker(voice, errand_fd, answers_fd))
    result = msgspec.Raw((outcome.result_json or "null").encode())
    voice.say(FunctionEnded(outcome.ending, outcome.error, outcome.final, outcome.retry_after_s, result))
    sys.exit(0 if outcome.ending is Ending.DONE else 1)


def _read(errand_fd: int) -> Errand:
    with open(errand_fd, "rb", closefd=False) as file:
        return msgspec.json.decode(file.read(), type=Errand)


class _Voice:
    """Sender of events to the worker. Several threads of the function may send at the same time."""

    def __init__(self, events_fd: int) -> None:
        os.set_inheritable(events_fd, False)  # noqa: FBT003  # Children of the function must not inherit it.
        self._pipe = open(events_fd, "wb")  # noqa: SIM115  # It stays open until the end.
        self._lock = threading.Lock()

    def say(self, event: Event) -> None:
        with self._lock:
            self._pipe.write(msgspec.json.encode(event) + b"\n")
            self._pipe.flush()


class _AskedWorker:
    """Results that the worker reads for this process, and jobs to add that it checks. Questions of several threads are
    answered one after another."""

    def __init__(self, voice: _Voice, file_fd: int, answers_fd: int) -> None:
        for descriptor in (file_fd, answers_fd):
            os.set_inheritable(descriptor, False)  # noqa: FBT003  # Children of the function must not inherit it.
        self._voice = voice
        self._file_fd = file_fd
        self._answers = open(answers_fd, "rb")  # noqa: SIM115  # It stays open until the end.
        self._lock = threading.Lock()

    def of(self, app: str, key: str | None, identifiers: Mapping[str, str]) -> str | None:
        return self._ask(ResultWanted(app, key, identifiers))[""]

    def needed(self, app: str) -> Mapping[str, str | None]:
        return self._ask(ResultsWanted(app))

    def expansion(self, request: ExpansionRequest) -> Expansion:
        return msgspec.json.decode(self._ask(ExpansionWanted(request))[""] or "", type=Expansion)

    def _ask(self, question: ResultWanted | ResultsWanted | ExpansionWanted) -> Mapping[str, str | None]:
        with self._lock:
            self._voice.say(question)
            length = int(self._answers.readline())
            answer = msgspec.json.decode(read_at_start(self._file_fd, length), type=ResultAnswer)
        if answer.error is not None:
            raise BadRequest(answer.error, advice=answer.advice)
        return answer.results


def _run(errand: Errand, voice: _Voice, worker: _AskedWorker) -> Outcome:
    cancelled = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: cancelled.set())
    try:
        _settle(errand)
        lacking = missing_spark() if errand.spark else None
        if lacking:
            return failed(lacking)
        function = resolve_function(errand.function_path)
        if errand.cwd is not None:
            os.chdir(errand.cwd)
    except SluiceError as fault:
        return failed(fault.what)
    except BaseException as error:
        # Importing the user's module may raise anything, like the function itself.
        return failed(account(error))
    job = _job(errand, voice, cancelled, worker)
    if errand.spark is not None:
        return perform_on_spark(errand.spark, function, job)
    _log_to_output()
    return _perform(errand, function, job)


def _perform(errand: Errand, function: Callable[..., Any], job: Job) -> Outcome:
    """Call the function between the start and the stop of the hooks. They belong to this process alone."""
    hooks = StartedHooks(find_object, errand.hooks)
    try:
        return perform(FunctionCall(function), job, retried=errand.retried, hooks=hooks.of())
    except SluiceError as fault:
        return failed(fault.reason)
    finally:
        hooks.stop()


def _settle(errand: Errand) -> None:
    """Remove the traces of how the child was started, and flush each line so that a kill loses no output."""
    os.environ.pop("PYTHONPATH", None)
    if errand.python_path is not None:
        os.environ["PYTHONPATH"] = errand.python_path
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", line_buffering=True)


class _OutputLog(logging.Handler):
    """Handler that prints log records as a thread of the worker adds them to the output of its run."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stdout.write(log_line(record, f"{record.name}: {self.format(record)}"))
        except Exception:
            self.handleError(record)


def _log_to_output() -> None:
    """Print log records from ``INFO`` on, unless the module of the function has configured logging."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(_OutputLog())
        root.setLevel(logging.INFO)


def _job(errand: Errand, voice: _Voice, cancelled: threading.Event, worker: _AskedWorker) -> Job:
    return Job(
        errand.claimed,
        report=lambda done, total: voice.say(ChildProgress(done, total)),
        log=job_log(
            errand.claimed.name,
            write=sys.stdout.write,
            tell=lambda level, text: voice.say(LogLine(level, legible(text))),
        ),
        cancelled=cancelled.is_set,
        own_end=OwnEnd(_recording(errand, voice)),
        acknowledge=(lambda partition: voice.say(Acknowledged(partition))) if errand.acknowledges else None,
        answers=worker if errand.has_answers else None,
    )


def _recording(errand: Errand, voice: _Voice) -> Callable[[Any, str | None], int] | None:
    """Return a function that records the success of the job on a connection. The worker has the output so far."""
    success = errand.claimed.success
    if success is None:
        return None

    def record(connection: Any, expansions: str | None) -> int:
        transaction = success.record(connection, "", expansions)
        voice.say(SuccessRecorded(transaction))
        return transaction

    return record


if __name__ == "__main__":
    main()
