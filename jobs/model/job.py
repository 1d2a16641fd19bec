"""The job as its own code sees it, and the outcome of one claim.

A runner makes the ``Job`` from an ``Assignment`` and returns an ``Outcome``. The worker passes in everything: this
module reads no clock, environment or ledger.
"""

import hashlib
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar, overload

from msgspec import Struct, json

from sluice.jobs.errors import BadRequest, SluiceError
from sluice.jobs.expansions import Expansion, ExpansionRequest, PartKeys, encoded
from sluice.jobs.keys.identifiers import Value, parse_day
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import When
from sluice.jobs.model.names import JobName
from sluice.jobs.model.results import JobRequest, Returning, decoded, result_type
from sluice.jobs.model.submission import JSON
from sluice.jobs.own_success import OwnSuccess
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.tenants import UNLIMITED, Tenant

R = TypeVar("R")

#: Receives the amount done and the total. It must not raise, because user code would be blamed for the error.
Report = Callable[[int, int | None], None]
#: Opens a transaction in the ledger's database. The argument records the success of the job on its connection, at the
#: end of the block.
Transaction = Callable[[Callable[[Any], None]], AbstractContextManager[Any]]
#: Receives a finished partition. It stays finished, even if the rest of the run fails.
Acknowledge = Callable[[str], None]


class OwnEnd(NamedTuple):
    """Means of the code to end its job in a transaction. ``succeed`` records the success on a connection, with the jobs
    that it adds, and returns the ID of its transaction. ``transaction`` opens one.
    """

    succeed: Callable[[Any, str | None], int] | None = None
    transaction: Transaction | None = None


_NO_OWN_END = OwnEnd()


class GrowingText(Protocol):
    """Kept part of a text that grows while a job runs. Any thread may read it."""

    @property
    def size(self) -> int:
        """Number of bytes that were written so far."""
        ...

    def text(self) -> str:
        """Return the kept part so far."""
        ...


class Echo(NamedTuple):
    """Receivers of a job's output while it runs. The outcome contains the kept part in any case.

    ``stdout`` and ``stderr`` receive the bytes that a process prints, and ``stdout`` the lines of ``job.log``. A
    function in a thread prints to the streams of this process. ``texts`` receives the growing output and stderr once,
    at the start of the run.
    """

    stdout: Callable[[bytes], object] | None = None
    stderr: Callable[[bytes], object] | None = None
    texts: Callable[[GrowingText, GrowingText], object] | None = None


#: Default of runs: nothing listens to the output while they run.
NO_ECHO = Echo()


class WorkerAnswers(Protocol):
    """Answers of the worker to a running job: results of other jobs as JSON, None if a job's function returned None,
    and the jobs that it adds, with canonical keys. BadRequest if there is no such job or result."""

    def of(self, app: str, key: str | None, identifiers: Mapping[str, str]) -> str | None: ...

    def needed(self, app: str) -> Mapping[str, str | None]: ...

    def expansion(self, request: ExpansionRequest) -> Expansion: ...


class RunContext(Struct, frozen=True, kw_only=True):
    """Data of a claim that a run may use. It is plain data, so it can be sent to another process.

    ``claim`` is the fencing number. ``token`` is the idempotency key for external systems, the same in all rounds and
    recoveries of one job (``idempotency_token``). ``days`` names the identifiers that are calendar days.
    ``partitions`` are the unfinished partitions of the ``span`` of the ``table``. ``inputs`` has the partitions that
    these, or the day of a job with a key, need of each table (``jobs.keys.partitions.inputs_of``), and
    ``input_versions`` the versions of those tables. ``by`` has the second dimension of the table, if it has one, with
    the value of the job's slice. With ``traceparent``, a process that the run starts can join its trace. ``success`` is
    the right to record the job's success, or None for a run without a ledger.
    """

    name: JobName
    ids: Mapping[str, Value] = {}
    days: tuple[str, ...] = ()
    work_ids: tuple[int | str, ...] | None = None
    span: tuple[str, str] | None = None
    partitions: tuple[str, ...] = ()
    table: str | None = None
    by: Mapping[str, str] = {}
    version: str | None = None
    inputs: Mapping[str, tuple[str | None, str | None]] = {}
    input_versions: Mapping[str, str] = {}
    kwargs: Mapping[str, JSON] = {}
    round: int
    claim: int
    token: str
    traceparent: str | None = None
    success: OwnSuccess | None = None

    @property
    def typed_ids(self) -> dict[str, Value | date]:
        """The identifiers as functions receive them: a calendar day is a ``datetime.date``."""
        return {
            name: parse_day(str(value)) if name in self.days else value for name, value in self.ids.items()
        }


class Assignment(RunContext, frozen=True, kw_only=True):
    """Everything that a runner needs to run one claim. ``policy`` is the app's policy with the submission's options
    over it. ``answers`` is None for a run without a ledger. ``quota`` has the limits of the app's tenant.
    """

    app: App
    policy: Policy
    echo: Echo = NO_ECHO
    answers: WorkerAnswers | None = None
    quota: Tenant = UNLIMITED

    @property
    def timeout_s(self) -> float | None:
        return self.policy.timeout_s

    @property
    def claimed(self) -> RunContext:
        """The part that is plain data."""
        return RunContext(**{field: getattr(self, field) for field in RunContext.__struct_fields__})


def idempotency_token(app: str, version: str, key: str) -> str:
    """Return the token of a job. It depends only on the job's name and version, so it is the same in every round."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (app, version, key):
        digest.update(len(part.encode()).to_bytes(4) + part.encode())
    return digest.hexdigest()


class Job:
    """Object that a function receives in its parameter with the annotation ``Job``."""

    def __init__(
        self,
        claimed: RunContext,
        *,
        report: Report,
        log: logging.Logger,
        cancelled: Callable[[], bool],
        own_end: OwnEnd = _NO_OWN_END,
        acknowledge: Acknowledge | None = None,
        answers: WorkerAnswers | None = None,
    ) -> None:
        #: Logger with %-arguments. Its lines become part of the job's output and of the worker's log.
        self.log = log
        #: Whether the code has seen the request to stop. Only then can its end be a reaction to it.
        self.told = False
        #: ID of the database transaction in which the code has recorded the success of the job, if it has.
        self.succeeded_in: int | None = None
        self._claimed = claimed
        self._work_ids = None if claimed.work_ids is None else list(claimed.work_ids)
        self._report = report
        self._cancelled = cancelled
        self._own_end = own_end
        self._is_committed = False
        self._acknowledge = acknowledge
        self._answers = answers
        self._expansions: list[Expansion] = []

    @property
    def app(self) -> str:
        """Name of the app."""
        return self._claimed.name.app

    @property
    def key(self) -> str:
        """Key of the job in its canonical form. Empty if the app has no identifiers."""
        return self._claimed.name.key

    @property
    def ids(self) -> Mapping[str, Value | date]:
        """Identifier → value, typed as the app defines it. A ``date`` is a ``datetime.date``."""
        return self._claimed.typed_ids

    @property
    def work_ids(self) -> list[int | str] | None:
        """Work IDs of a chunk, in order; None if the app is not keyed by chunk."""
        return self._work_ids

    @property
    def span(self) -> tuple[str, str] | None:
        """First and last partition to produce; None if the app is not keyed by partition."""
        return self._claimed.span

    @property
    def partitions(self) -> list[str]:
        """The partitions to make now, in order. An earlier round may have finished some of the span.

        BadRequest if the job has no ``span``.
        """
        if self._claimed.span is None:
            raise self._refusal("partitions", "Use it only in apps that are keyed by partition.")
        return list(self._claimed.partitions)

    @property
    def by(self) -> dict[str, str]:
        """Second dimension of the table and the value of the slice that the job fills; empty if it has none."""
        return dict(self._claimed.by)

    @property
    def table(self) -> str | None:
        """Table that the job fills; None if the app is not keyed by partition."""
        return self._claimed.table

    @property
    def version(self) -> str | None:
        """Version of the app's definition and of all that it reads from.

        A job that must write to a separate place for each version has it in the path: on a branch, or after a change
        of definitions.
        """
        return self._claimed.version

    @property
    def inputs(self) -> Mapping[str, tuple[str | None, str | None]]:
        """First and last partition to read, by table: for ``partitions``, or for the day of a job with a key.

        If the first is None, read from the earliest existing partition. If the last is None, any one partition from
        the first on is enough.
        """
        return self._claimed.inputs

    @property
    def input_versions(self) -> Mapping[str, str]:
        """Version of each table to read that an app fills, by table."""
        return self._claimed.input_versions

    @property
    def kwargs(self) -> Mapping[str, JSON]:
        """Kwargs of the submission, as plain JSON."""
        return self._claimed.kwargs

    @property
    def round(self) -> int:
        """Number of tries before this one."""
        return self._claimed.round

    @property
    def claim(self) -> int:
        """Fencing number. It grows with every claim of this job, so a store can refuse writes of an older claim."""
        return self._claimed.claim

    @property
    def token(self) -> str:
        """Idempotency key for external systems, the same in every round."""
        return self._claimed.token

    @property
    def claimed(self) -> RunContext:
        """All of this as plain data, which can be sent to another process."""
        return self._claimed

    @property
    def cancelled(self) -> bool:
        """True if the code must stop: cancelled, over its timeout, taken over, or its worker is leaving.

        Read it in long loops; there is no other notice. If the code ends after it has read True, the job is handed
        back.
        """
        self.told = self.told or self._cancelled()
        return self.told

    def progress(self, done: int, total: int | None = None) -> None:
        """Report how far the job is: the amount ``done``, and the ``total`` if it is known."""
        self._report(int(done), None if total is None else int(total))

    def done(self, partition: str) -> None:
        """Acknowledge one finished ``partition``. It stays finished if the rest of the run fails."""
        if self._acknowledge is None:
            raise self._refusal("done()", "Use it only in apps that are keyed by partition.")
        if partition not in self._claimed.partitions:
            raise self._refusal(f"done({partition!r})", "Pass the partitions of job.partitions, one by one.")
        self._acknowledge(partition)

    def transaction(self) -> AbstractContextManager[Any]:
        """Open a psycopg connection to the ledger's database: ``with job.transaction() as connection``.

        Its writes commit together with this job's success. The end of the block ends the job. A run has one such block.
        A second one, and any other exception after the first, is reported as the round's ``error_after_commit``, and
        the job stays succeeded.
        """
        if self._own_end.transaction is None:
            advice = "Set isolate: false, or use job.succeed_in() on a connection of your own."
            raise self._refusal("transaction()", advice)
        if self._is_committed:
            raise SluiceError("A job has one transaction, and this job's has been committed.")
        return self._committed(self._own_end.transaction(self.succeed_in))

    @contextmanager
    def _committed(self, opened: AbstractContextManager[Any]) -> Iterator[Any]:
        with opened as connection:
            yield connection
        self._is_committed = True

    def succeed_in(self, connection: Any) -> None:
        """Record the success of this job in a transaction of your own, on a connection to the ledger's database.

        ``connection`` is an open transaction of a DB-API driver, of SQLAlchemy (connection or session) or of Django.
        Call this last in it, because from then on the job is locked. Its commit ends the job, with your writes; its
        rollback takes both back. Commit before the function returns: otherwise the round fails. After the commit, any
        exception is reported as the round's ``error_after_commit``.
        """
        if self._own_end.succeed is None:
            raise self._refusal("succeed_in()", "It needs the ledger, and this run has none.")
        self.succeeded_in = self._own_end.succeed(connection, self.expansions)

    @overload
    def result_of(
        self, app: Returning[Coroutine[Any, Any, R]], key: str | None = None, /, **identifiers: object
    ) -> R: ...

    @overload
    def result_of(self, app: Returning[R], key: str | None = None, /, **identifiers: object) -> R: ...

    @overload
    def result_of(self, app: str, key: str | None = None, /, **identifiers: object) -> Any: ...

    def result_of(self, app: Any, key: str | None = None, /, **identifiers: object) -> Any:
        """Return the result of a job, as the ledger has it now. ``app`` is a name or a decorated function.

        It may be any job of the ledger, and is selected by its ``key`` or by its ``identifiers``. Identifiers that are
        not given have the values of this job. The result of a
        decorated function has the type that it is annotated with; any other result is plain JSON. None if the function
        returned None. BadRequest if the job has not succeeded, or its result is not available any more.
        """
        name = _name_of(app)
        texts = {word: str(value) for word, value in identifiers.items()}
        return _value(app, self._answers_to("result_of()").of(name, key, texts), f"a job of {name}")

    @overload
    def results(self, app: Returning[Coroutine[Any, Any, R]]) -> Mapping[str, R]: ...

    @overload
    def results(self, app: Returning[R]) -> Mapping[str, R]: ...

    @overload
    def results(self, app: str) -> Mapping[str, Any]: ...

    def results(self, app: Any) -> Mapping[str, Any]:
        """Return the results of all jobs of an app that this job needs, by key, as the ledger has them now. ``app`` is
        a name or a decorated function.

        BadRequest if any of these jobs has not succeeded, or if its result is not available any more.
        """
        found = self._answers_to("results()").needed(_name_of(app))
        return {key: _value(app, text, f"{_name_of(app)}/{key}") for key, text in found.items()}

    def expand(
        self,
        app: Returning[Any] | str,
        jobs: Iterable[str | Mapping[str, object] | JobRequest[Any]],
        *,
        then: Returning[Any] | JobRequest[Any] | str | None = None,
        when: When = "succeeded",
    ) -> None:
        """Add jobs to the submission of this job, which need this job. They are planned if this run succeeds.

        ``app`` is a name or a decorated function that is keyed by template. ``jobs`` are identifiers like
        ``[{"n": 1}, {"n": 2}]``, whole keys, or requests like ``part.job(n=1)`` without kwargs. Identifiers that are
        not given have the values of this job. ``then`` is a job that needs all of these jobs in the state ``when``: an
        app, or a request like ``join.job(day)``. Call this before ``succeed_in`` and before the end of ``transaction``.

        If this job runs again, the new calls replace these: named jobs run again, and the others are cancelled unless
        they have ended. BadRequest if one of the jobs cannot be planned.
        """
        answers = self._answers_to("expand()")
        if self.succeeded_in is not None:
            raise SluiceError("The success of this job is recorded already; call job.expand() before that.")
        name = _name_of(app)
        request = ExpansionRequest(
            PartKeys(name, [_key_in(name, each) for each in jobs]),
            None
            if then is None
            else PartKeys(_name_of_job(then), [then.key if isinstance(then, JobRequest) else {}]),
            when,
        )
        self._expansions.append(answers.expansion(request))

    @property
    def expansions(self) -> str | None:
        """Added jobs as JSON, for the worker. None if there are none."""
        return encoded(self._expansions)

    def _answers_to(self, what: str) -> WorkerAnswers:
        if self._answers is None:
            raise self._refusal(what, "It needs the ledger, and this run has none.")
        return self._answers

    def _refusal(self, what: str, advice: str) -> BadRequest:
        return BadRequest(
            f"job.{what} is not available to this run.", where=str(self._claimed.name), advice=advice
        )


def _name_of(app: Any) -> str:
    return app if isinstance(app, str) else str(app.name)


def _name_of_job(job: Any) -> str:
    return str(job.app) if isinstance(job, JobRequest) else _name_of(job)


def _key_in(app: str, job: str | Mapping[str, object] | JobRequest[Any]) -> str | Mapping[str, str]:
    """Return the key or the identifiers of one added job."""
    if isinstance(job, JobRequest):
        if job.app != app:
            raise BadRequest(f"job.expand({app}, …) adds jobs of {app}, and {job.app}/{job.key} is not one.")
        if job.kwargs:
            raise BadRequest(
                f"job.expand adds jobs with the kwargs of the submission, and {job.app}/{job.key} has its own."
                f" Make {', '.join(job.kwargs)} an identifier of {app}, or return it from this job as a result."
            )
        return job.key
    return job if isinstance(job, str) else {word: str(value) for word, value in job.items()}


def _value(app: Any, text: str | None, name: str) -> Any:
    if text is None:
        return None
    return decoded(text, None if isinstance(app, str) else result_type(app.function), name)


#: Characters of an output that the ledger keeps: this many from the beginning and this many from the end.
KEPT_BYTES = 16 * 1024


class Ending(StrEnum):
    """Ending of a run, as the worker saw it. The planner and the ledger decide the consequences."""

    DONE = "done"
    ERROR = "error"
    UNDO_FAILED = "undo_failed"
    TIMED_OUT = "timed_out"
    HANDED_BACK = "handed_back"
    #: Handed back, and no code of the user's has run.
    NOT_STARTED = "not_started"
    SUSPENDED = "suspended"
    #: This worker has no definition of the job's version. Another worker may have it.
    VERSION_UNAVAILABLE = "version_unavailable"
    #: Long-running work was started and continues. Nothing has ended, so there is nothing to record.
    DETACHED = "detached"


class Outcome(Struct, frozen=True, kw_only=True):
    """Result of a run.

    ``ending`` is ``done`` after a success. ``exit_code`` is that of a process. ``error`` is text for people. ``output``
    and ``stderr`` are the text that the job printed, already capped. If the whole text was stored, ``output_blob`` and
    ``stderr_blob`` name it. ``log`` has the messages of the runner, one per line.

    A suspended job waits for the event named ``event``, or for any event if it is None. It waits at most ``waits_s``
    from the time that its journal records as the start of the wait.

    ``took_s`` is the duration of the work itself by the worker's clock. It is used for estimates only; no decision
    depends on it.

    ``result_json`` is the value that the function returned, or ``result_blob`` names the blob with it.
    ``expansions`` are the jobs that it adds if it succeeds (``jobs.expansions``). ``succeeded_in`` is the ID of the
    database transaction in which the run itself has recorded the success of the job. Whether it was committed is not
    known here.

    After an error, ``final`` fails the job although tries are left. ``retry_after_s`` overrides the delay of the
    app's ``retry``.
    """

    ending: Ending
    error: str | None = None
    exit_code: int | None = None
    output: str = ""
    stderr: str = ""
    event: str | None = None
    waits_s: float | None = None
    took_s: float | None = None
    output_blob: str | None = None
    stderr_blob: str | None = None
    log: str = ""
    result_json: str | None = None
    result_blob: str | None = None
    expansions: str | None = None
    succeeded_in: int | None = None
    final: bool = False
    retry_after_s: float | None = None

    @property
    def result(self) -> Any:
        """Value that the function returned, as plain JSON. None if it returned none, or if the value is in a blob."""
        return None if self.result_json is None else json.decode(self.result_json)


def keep(text: str) -> str:
    """Return the text. If it has more than ``2 * KEPT_BYTES`` characters, return its head, a note about the omission
    and its tail.

    NUL is dropped because Postgres cannot store it in a text.
    """
    text = text.replace("\x00", "")
    if len(text) <= 2 * KEPT_BYTES:
        return text
    left_out = len(text) - 2 * KEPT_BYTES
    return f"{text[:KEPT_BYTES]}\n… {left_out} characters left out …\n{text[-KEPT_BYTES:]}"
