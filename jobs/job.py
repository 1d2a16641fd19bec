"""The job as its own code sees it, and the assignment from which a runner makes it.

Everything here is handed in by the worker: nothing reads a clock, an environment or a ledger.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from msgspec import Struct

from sluice.jobs.app import App
from sluice.jobs.errors import BadRequest
from sluice.jobs.identifiers import Value
from sluice.jobs.policy import Policy
from sluice.jobs.ref import JobName
from sluice.jobs.submission import JSON

#: Receives how much is done, and of how much. It must not raise: user code would be blamed.
Report = Callable[[int, int | None], None]
#: Opens a transaction in the ledger's database that commits with this job's success. The argument returns the output
#: of the run so far, which is stored with the success.
Transaction = Callable[[Callable[[], str]], AbstractContextManager[Any]]
#: Receives a partition that is finished for good, whatever becomes of the rest of the run.
Acknowledge = Callable[[str], None]


class Echo(NamedTuple):
    """Who hears what a job prints while it prints it; what is kept of it is in the outcome in any case."""

    stdout: Callable[[bytes], object] | None = None
    stderr: Callable[[bytes], object] | None = None


class Claimed(Struct, frozen=True, kw_only=True):
    """What a run may know of its claim. Plain data, so that it can travel to another process.

    ``claim`` is the fencing number; ``token`` the idempotency key for the outside world, the same
    over all rounds and recoveries of one job (``idempotency_token``). ``partitions`` are those of the ``span`` of the
    ``table`` that are still to be made, ``inputs`` what these need of each table (``jobs.partitioning.inputs_of``),
    ``input_versions`` whose these are. ``traceparent`` is for what it starts to say where it belongs.
    """

    name: JobName
    ids: Mapping[str, Value] = {}
    work_ids: tuple[int | str, ...] | None = None
    span: tuple[str, str] | None = None
    partitions: tuple[str, ...] = ()
    table: str | None = None
    version: str | None = None
    inputs: Mapping[str, tuple[str | None, str | None]] = {}
    input_versions: Mapping[str, str] = {}
    kwargs: Mapping[str, JSON] = {}
    round: int
    claim: int
    token: str
    traceparent: str | None = None


class Assignment(Claimed, frozen=True, kw_only=True):
    """All a runner needs to run one claim. ``policy`` is the app's with the submission's words over it."""

    app: App
    policy: Policy
    echo: Echo = Echo()

    @property
    def timeout_s(self) -> float | None:
        return self.policy.timeout_s

    @property
    def claimed(self) -> Claimed:
        """The part that is plain data."""
        return Claimed(**{field: getattr(self, field) for field in Claimed.__struct_fields__})


def idempotency_token(app: str, version: str, key: str) -> str:
    """The token of a job: it depends on which job it is and on nothing else, so every round has the same."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (app, version, key):
        digest.update(len(part.encode()).to_bytes(4) + part.encode())
    return digest.hexdigest()


class Job:
    """What a function receives as ``job``.

    ``log`` takes %-arguments like a standard logger; its lines become part of the job's output and
    of the worker's own log.
    """

    def __init__(
        self,
        claimed: Claimed,
        *,
        report: Report,
        log: logging.Logger,
        cancelled: Callable[[], bool],
        transaction: Callable[[], AbstractContextManager[Any]] | None = None,
        acknowledge: Acknowledge | None = None,
    ) -> None:
        self.log = log
        #: Whether the code has been told to stop: only then can its end be an answer to that.
        self.told = False
        self._claimed = claimed
        self._work_ids = None if claimed.work_ids is None else list(claimed.work_ids)
        self._report = report
        self._cancelled = cancelled
        self._transaction = transaction
        self._acknowledge = acknowledge

    @property
    def app(self) -> str:
        return self._claimed.name.app

    @property
    def key(self) -> str:
        return self._claimed.name.key

    @property
    def ids(self) -> Mapping[str, Value]:
        """Identifier → value, typed as the app says."""
        return self._claimed.ids

    @property
    def work_ids(self) -> list[int | str] | None:
        """The work IDs of a chunk, in order; None where the app is keyed otherwise."""
        return self._work_ids

    @property
    def span(self) -> tuple[str, str] | None:
        """The first and last partition to produce; None where the app is keyed otherwise."""
        return self._claimed.span

    @property
    def partitions(self) -> list[str] | None:
        """Those to make now, in order: a round before may have finished some. None where the app is keyed otherwise."""
        return None if self._claimed.span is None else list(self._claimed.partitions)

    @property
    def table(self) -> str | None:
        """The table that it fills; None where the app is keyed otherwise."""
        return self._claimed.table

    @property
    def version(self) -> str | None:
        """Of what its app, and all that this reads from, do. Whoever writes where other versions must not, on a branch
        or after a change of definitions, has it in the path."""
        return self._claimed.version

    @property
    def inputs(self) -> Mapping[str, tuple[str | None, str | None]]:
        """By table, the first and last partition to read for these: from the earliest there is where the first is
        None, and any from the first on, where the last is."""
        return self._claimed.inputs

    @property
    def input_versions(self) -> Mapping[str, str]:
        """By table, the ``version`` that it was made in, of those that apps fill."""
        return self._claimed.input_versions

    @property
    def kwargs(self) -> Mapping[str, JSON]:
        return self._claimed.kwargs

    @property
    def round(self) -> int:
        """How many tries were made before this one."""
        return self._claimed.round

    @property
    def claim(self) -> int:
        """The fencing number: it grows with every claim of this job, so a store can refuse an older one."""
        return self._claimed.claim

    @property
    def token(self) -> str:
        """The idempotency key to show the outside world; the same in every round."""
        return self._claimed.token

    @property
    def claimed(self) -> Claimed:
        """All of this as plain data, which can travel to another process."""
        return self._claimed

    @property
    def cancelled(self) -> bool:
        """Whether to stop: cancelled, over its timeout, taken over, or its worker is leaving.

        Ask it in long loops; it is the only notice there is. Whoever ends after having seen it hands
        the job back.
        """
        self.told = self.told or self._cancelled()
        return self.told

    def progress(self, done: int, total: int | None = None) -> None:
        """Show how far the job is."""
        self._report(int(done), None if total is None else int(total))

    def done(self, partition: str) -> None:
        """Acknowledge one finished partition: it stays finished if the rest of the run fails."""
        if self._acknowledge is None:
            raise self._refusal("done()", "It belongs to apps that are keyed by partition.")
        if partition not in self._claimed.partitions:
            raise self._refusal(
                f"done({partition!r})", "It takes the partitions of job.partitions, one by one."
            )
        self._acknowledge(partition)

    def transaction(self) -> AbstractContextManager[Any]:
        """A psycopg connection to the ledger's database; its writes commit together with this job's success.

        The end of the block ends the job. A run has one such block: a second one, and any other exception after the
        first, is reported as the round's ``error_after_commit``, and the job stays succeeded.
        """
        if self._transaction is None:
            raise self._refusal(
                "transaction()", "It needs a function that runs in the worker: isolate: false."
            )
        return self._transaction()

    def _refusal(self, what: str, advice: str) -> BadRequest:
        return BadRequest(
            f"job.{what} is not available to this run.", where=str(self._claimed.name), advice=advice
        )
