"""Functions in processes of their own, which can be killed and print to streams of their own.

The worker starts ``python -m sluice.jobs.runners.function.child`` and passes two descriptors: a file that holds the
errand, and a pipe for events. The child's stdin is empty; its stdout and stderr are the job's. SIGTERM makes
``job.cancelled`` true. Processes that still run after the grace period are killed.
"""

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from sluice.jobs.errors import SluiceError
from sluice.jobs.expansions import Expansion, ExpansionRequest, encoded
from sluice.jobs.model.job import Acknowledge, Assignment, Ending, Outcome, Report, Transaction, WorkerAnswers
from sluice.jobs.runners.command.environment import function_environment
from sluice.jobs.runners.function.child_protocol import (
    LINE_BYTES_MAX,
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
    write_at_start,
)
from sluice.jobs.runners.function.spark_settings import for_run
from sluice.jobs.runners.output import worker_log
from sluice.jobs.runners.output_blobs import with_whole
from sluice.jobs.runners.process.group import ProcessCommand
from sluice.jobs.runners.process.process import Exit, run_group
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.run_outcome import failed, of_exit, of_halt, violent_end
from sluice.jobs.runners.stop_signal import Halt, Limits

#: Seconds that a child may take to exit (exit hooks, its own threads) after its function has ended.
LINGER_S = 5.0

_CHILD = "sluice.jobs.runners.function.child"
_EVENTS = msgspec.json.Decoder(Event)


class IsolateRunner:
    """Runner of a function by its path, and of the ``main`` of Spark jobs. In a thread their Spark would outlive them.

    ``job.transaction()`` is not available because the connection belongs to the worker. ``job.succeed_in()`` is.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def run(
        self,
        assignment: Assignment,
        *,
        stop: threading.Event,
        report: Report,
        transaction: Transaction | None = None,  # noqa: ARG002  # A connection cannot be passed.
        acknowledge: Acknowledge | None = None,
        **_: object,
    ) -> Outcome:
        limits = Limits(stop, assignment.timeout_s)
        if assignment.app.function_path is None:
            return failed(
                f"{assignment.name.app} cannot be isolated: its function is not at the top of a module."
            )
        errand = _errand(assignment, assignment.app.function_path, acknowledges=acknowledge is not None)
        if self._stores.hooks is not None:
            errand = replace(errand, hooks=(*self._stores.hooks.paths, *assignment.app.hooks))
        ear = _Ear(limits, report, acknowledge, assignment)
        try:
            environment = function_environment(assignment, assignment.policy, os.environ)
            exit_ = _run_child(errand, environment, limits, ear, assignment, stores=self._stores)
        except (OSError, ValueError, TypeError) as error:
            return failed(f"The child process could not be started: {error}.")
        outcome = replace(
            _outcome(exit_, ear.ended, assignment), succeeded_in=ear.succeeded_in, expansions=ear.expansions
        )
        return with_whole(outcome, exit_, assignment, self._stores.blobs)


def _errand(assignment: Assignment, function_path: str, *, acknowledges: bool) -> Errand:
    return Errand(
        claimed=assignment.claimed,
        function_path=function_path,
        cwd=assignment.policy.cwd,
        python_path={**os.environ, **assignment.policy.env}.get("PYTHONPATH"),
        acknowledges=acknowledges,
        has_answers=assignment.answers is not None,
        spark=assignment.app.spark and for_run(assignment.app.spark, assignment, assignment.policy.env),
        retried=assignment.policy.retried_errors,
    )


def _run_child(
    errand: Errand,
    environment: Mapping[str, str],
    limits: Limits,
    ear: "_Ear",
    assignment: Assignment,
    *,
    stores: Stores,
) -> Exit:
    """Run the child. With ``-P`` and our own path it imports the same modules as the worker, in any working
    directory.
    """
    with tempfile.TemporaryFile() as file, ear.answering(file.fileno()) as answers_fd:
        file.write(
            msgspec.json.encode(errand)
        )  # Unlike a pipe, the file takes any size before a reader exists.
        file.seek(0)
        command = ProcessCommand(
            argv=(sys.executable, "-P", "-m", _CHILD, str(file.fileno()), str(answers_fd)),
            env={
                **environment,
                "PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path),
            },
            inherit=(file.fileno(), answers_fd),
            allowance=assignment.policy.limits,
        )
        command = stores.sandbox.around(command, reads=_python(errand.function_path))
        whole = assignment.policy.keep_output
        return run_group(
            command,
            limits,
            hear=ear.hear,
            echo=assignment.echo,
            whole=whole,
            grace_s_max=stores.grace_s_max,
        )


def _python(function_path: str) -> tuple[str, ...]:
    """Return the paths of the interpreter, its modules, and the function's file and folder. The file is listed by
    itself because the sandbox does not show every folder that may contain it.
    """
    module, _, _ = function_path.rpartition(":")
    file = Path(module).absolute()
    own = (str(file.parent), str(file)) if module.endswith(".py") else ()
    return (sys.prefix, sys.base_prefix, *(str(Path(entry).absolute()) for entry in sys.path), *own)


class _Ear:
    """Reader of the child's events, line by line, that answers its questions. ``ended`` is the child's last event.
    ``succeeded_in`` and ``expansions`` are as in ``Outcome``."""

    def __init__(
        self, limits: Limits, report: Report, acknowledge: Acknowledge | None, assignment: Assignment
    ) -> None:
        self.ended: FunctionEnded | None = None
        self.succeeded_in: int | None = None
        self._expansions: list[Expansion] = []
        self._limits = limits
        self._report = report
        self._tell = worker_log(assignment.name)
        self._acknowledge = acknowledge
        self._answers = assignment.answers
        self._begun = bytearray()

    @property
    def expansions(self) -> str | None:
        return encoded(self._expansions)

    @contextmanager
    def answering(self, file_fd: int) -> Iterator[int]:
        """While the block lasts, answer questions in this file. Yield the end of the pipe that the child reads."""
        read_fd, write_fd = os.pipe()
        os.set_blocking(write_fd, False)
        self._file_fd, self._answers_fd = file_fd, write_fd
        try:
            yield read_fd
        finally:
            os.close(read_fd)
            os.close(write_fd)

    def hear(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._begun += first
        for begun in others:
            self._take(bytes(self._begun))
            self._begun = bytearray(begun)
        if len(self._begun) > LINE_BYTES_MAX:
            self._begun.clear()

    def _take(self, line: bytes) -> None:
        """Handle one line. Lines that are no event are dropped, because user code can find the pipe and write to it."""
        try:
            event = _EVENTS.decode(line)
        except msgspec.DecodeError:
            return
        match event:
            case ChildProgress(done=done, total=total):
                self._report(done, total)
            case LogLine(level=level, text=text):
                self._tell(level, text)
            case Acknowledged(partition=partition):
                if self._acknowledge is not None:
                    self._acknowledge(partition)
            case SuccessRecorded(transaction=transaction):
                self.succeeded_in = transaction
            case FunctionEnded():
                self.ended = event
                self._limits.linger(LINGER_S)
            case _:
                self._hear_question(event)

    def _hear_question(self, question: ResultWanted | ResultsWanted | ExpansionWanted) -> None:
        match question:
            case ResultWanted(app=app, key=key, identifiers=identifiers):
                self._answer(lambda answers: {"": answers.of(app, key, identifiers)})
            case ResultsWanted(app=app):
                self._answer(lambda answers: answers.needed(app))
            case ExpansionWanted(request=request):
                self._answer(lambda answers: {"": self._expanded(answers, request)})

    def _expanded(self, answers: WorkerAnswers, request: ExpansionRequest) -> str:
        expansion = answers.expansion(request)
        self._expansions.append(expansion)
        return msgspec.json.encode(expansion).decode()

    def _answer(self, read: Callable[[WorkerAnswers], Mapping[str, str | None]]) -> None:
        """Answer a question. Code that asks without reading the answers fills the pipe, and gets no more of them."""
        if self._answers is None:
            return
        try:
            answer = ResultAnswer(results=read(self._answers))
        except SluiceError as error:
            answer = ResultAnswer(error=error.what, advice=error.advice)
        content = msgspec.json.encode(answer)
        write_at_start(self._file_fd, content)
        with suppress(BlockingIOError):
            os.write(self._answers_fd, b"%d\n" % len(content))


def _outcome(exit_: Exit, ended: FunctionEnded | None, assignment: Assignment) -> Outcome:
    """Return the outcome of the run. A limit reached before the ``FunctionEnded`` event decides it; a later one does
    not."""
    if exit_.halt is Halt.TIMED_OUT or exit_.halt is Halt.STOPPED:
        return of_exit(exit_, *of_halt(exit_.halt, assignment.timeout_s))
    if ended is not None:
        outcome = of_exit(exit_, ended.ending, ended.error)
        result = None if bytes(ended.result) == b"null" else bytes(ended.result).decode()
        return replace(outcome, final=ended.final, retry_after_s=ended.retry_after_s, result_json=result)
    limits = assignment.policy.limits
    error = violent_end(exit_, limits) or f"exited with {exit_.status.code} before its function had ended"
    return of_exit(exit_, Ending.ERROR, error)
