"""History of a job: transitions, rounds and reports.

A ``Transition`` is one step of the job, and a ``Round`` is one claim. A ``JobReport`` is the present state of one job,
for programs. It also has the job's rounds in the form of TDF's record and log of a task (``record_of``, ``log_of``).

The record is one table of facts. It has the time of each state in each round (``0:running``), the worker of the round
and its output (``0:worker``, ``0:output``, ``0:error``). These rules hold:

- ``waiting`` and ``ready`` are both ``open``. ``R:open`` is the start of round R. A round that was handed back
  continues: its ``running`` and ``worker`` come from its last claim.
- The reason for the end of a round is part of that round, and the next round begins with ``open``. ``failure`` is an
  error, ``timeout`` a run over its timeout, ``lost`` a worker with an expired lease. If no try is left, the job's final
  state is added (``2:failure``, ``2:failed``). ``archived`` is the time at which the result was collected; the outcome
  stays.
- ``output`` and ``error`` exist if the run returned them. ``error`` is the run's stderr, or the reason for its failure
  if stderr is empty. Of a run that goes on, or that returned nothing because its worker was lost or too late, they have
  what is known of its output and of its stderr, if there is any.
- A rerun begins a new record. The log continues.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import FAIL, FAIL_LOST, MARK_FATAL, REQUEUE, RERUN, RETRY, TIME_OUT, State


class Lost(StrEnum):
    """Reason why a run was taken from its worker. It is the note of a transition that ends a round while tries are
    left.
    """

    TIMED_OUT = "timed out"
    LEASE_LOST = "lease lost"


class Round(Struct, frozen=True):
    """One claim of the job. A round that was handed back has several.

    ``digest`` identifies the definition that ran, ``code`` the version of the users' code on its worker. ``output``
    and ``stderr`` hold the stored ends of a text, and the blobs hold the whole text. ``output_bytes`` and
    ``stderr_bytes`` are the lengths of the stored texts, and are set even if the texts were not read. ``log`` has the
    messages of the runner. ``error_after_commit`` is an error after the run had committed its own success
    (``job.transaction()``).
    """

    round: int
    claim: int
    worker: str
    running_at: datetime
    executed_at: datetime | None
    ending: str | None
    took_s: float | None
    exit_code: int | None
    error: str | None
    output: str | None
    stderr: str | None
    digest: str | None = None
    code: str | None = None
    output_blob: str | None = None
    stderr_blob: str | None = None
    log: str | None = None
    error_after_commit: str | None = None
    output_bytes: int = 0
    stderr_bytes: int = 0

    @property
    def has_texts(self) -> bool:
        """True if the stored texts were read, or are empty."""
        return all(
            text is not None or not length
            for text, length in ((self.output, self.output_bytes), (self.stderr, self.stderr_bytes))
        )


class Transition(Struct, frozen=True):
    """One step from state to state.

    ``source`` is ``-`` for the creation of the job. ``round`` is the round after the step.
    """

    at: datetime
    source: str
    target: str
    verb: str
    by: str
    round: int
    claim: int
    note: str | None


class Passage(StrEnum):
    """Words of the record that are not states of Sluice."""

    OPEN = "open"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    LOST = "lost"
    ARCHIVED = "archived"


#: A moment, or a text that a run returned.
Entry = datetime | str

_OPEN = frozenset({State.WAITING, State.READY})
#: Entry that a job passes through before its next state, by verb. For a requeued job the transition's note decides.
_PASSED = {
    RETRY.name: Passage.FAILURE,
    FAIL.name: Passage.FAILURE,
    MARK_FATAL.name: Passage.FAILURE,
    TIME_OUT.name: Passage.TIMEOUT,
    FAIL_LOST.name: Passage.LOST,
}
_PASSED_BY_NOTE: Mapping[str | None, Passage] = {
    Lost.TIMED_OUT: Passage.TIMEOUT,
    Lost.LEASE_LOST: Passage.LOST,
}
#: Endings of runs that ended by themselves and returned their output.
_BROUGHT_BACK = frozenset({Ending.DONE, Ending.ERROR, Ending.UNDO_FAILED, Ending.TIMED_OUT})


class RoundRecord(Mapping[str, Entry]):
    """Facts by key, in chronological order. ``round`` is the current round."""

    def __init__(self, entries: Mapping[str, Entry], current: int) -> None:
        self._entries = dict(entries)
        self.round = current

    def __getitem__(self, key: str) -> Entry:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"RoundRecord({self._entries!r}, round={self.round})"

    def current(self, word: str) -> Entry | None:
        """Return an entry of the current round, for example ``current("worker")``."""
        return self.get(f"{self.round}:{word}")

    def newest(self, word: str) -> Entry | None:
        """Return the entry of the newest round that has it, for example the last output although another round is
        open.
        """
        for round_ in range(self.round, -1, -1):
            if (found := self.get(f"{round_}:{word}")) is not None:
                return found
        return None


class _Move(NamedTuple):
    """One step in the terms of the record. ``round`` is the round that the step belongs to."""

    at: datetime
    source: str
    target: str
    round: int
    claim: int


def record_of(
    history: Sequence[Transition], rounds: Sequence[Round], *, archived_at: datetime | None = None
) -> RoundRecord:
    """Return the record of a job with this history and these claims, both in chronological order."""
    runs = {each.claim: each for each in rounds}
    entries: dict[str, Entry] = {}
    round_, run = 0, None
    for move in _moves(_last_life(history), archived_at):
        round_ = move.round
        run = runs.get(move.claim)
        if move.source == State.RUNNING and run is not None:
            entries |= _texts(run)
        if move.target == Passage.OPEN:
            entries.setdefault(f"{round_}:{Passage.OPEN}", move.at)
        else:
            entries[f"{round_}:{move.target}"] = move.at
        if move.target == State.RUNNING and run is not None:
            entries[f"{round_}:worker"] = run.worker
    if run is not None and run.executed_at is None:
        entries |= _texts(run)
    return RoundRecord(entries, round_)


def _texts(run: Round) -> dict[str, Entry]:
    if run.ending in _BROUGHT_BACK:
        texts = {"output": run.output or "", "error": run.stderr or run.error or ""}
    else:
        texts = {name: text for name, text in (("output", run.output), ("error", run.stderr)) if text}
    return {f"{run.round}:{name}": text for name, text in texts.items()}


def log_of(
    name: JobName,
    history: Sequence[Transition],
    rounds: Sequence[Round],
    *,
    archived_at: datetime | None = None,
) -> tuple[str, ...]:
    """Return a line for each step of the job and for each time that it was started. All times are UTC."""
    runs = {each.claim: each for each in rounds}
    lines = []
    for move in _moves(history, archived_at):
        when = f"{move.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        if move.source not in ("-", move.target):
            lines.append(f"{when} - moving task {name}: {move.source} -> {move.target}")
        if move.target == State.RUNNING and (run := runs.get(move.claim)):
            lines.append(f"{when} - executing task {name}: round {run.round} on {run.worker}")
    return tuple(lines)


def _last_life(history: Sequence[Transition]) -> Sequence[Transition]:
    """Return the history from the last rerun on."""
    places = (place for place in reversed(range(len(history))) if history[place].verb == RERUN.name)
    return history[next(places, 0) :]


def _moves(history: Sequence[Transition], archived_at: datetime | None) -> Iterator[_Move]:
    round_ = 0
    for step in history:
        source = _word(step.source)
        if step.verb == RERUN.name:
            round_ = step.round
        if passed := _passed(step):
            yield _Move(step.at, source, passed, round_, step.claim)
            source = passed
        round_ = step.round
        yield _Move(step.at, source, _word(step.target), round_, step.claim)
    if archived_at is not None and history:
        last = history[-1]
        yield _Move(archived_at, _word(last.target), Passage.ARCHIVED, round_, last.claim)


def _passed(step: Transition) -> Passage | None:
    return _PASSED_BY_NOTE.get(step.note) if step.verb == REQUEUE.name else _PASSED.get(step.verb)


def _word(state: str) -> str:
    return Passage.OPEN if state in _OPEN else state


class JobReport(Struct, frozen=True, kw_only=True):
    """State, counters and history of a job."""

    #: Name of the app.
    app: str
    #: Key of the job.
    key: str
    #: State of the job.
    state: State
    #: Number of earlier rounds.
    round: int
    #: Number of failed rounds.
    fails: int
    #: Number of rounds over their timeout.
    timeouts: int
    #: Number of rounds whose worker was lost.
    losses: int
    #: Earliest start of the next round.
    not_before: datetime | None
    #: Time at which the job expires.
    end_before: datetime | None
    #: Value that the function of a succeeded job returned, if it is in the ledger. ``Client.result`` also reads larger
    #: ones.
    result: JSON = None
    #: Facts of each round, by round and name: ``record["0:output"]`` is the output of the first round, and
    #: ``record["0:worker"]`` its worker.
    record: RoundRecord
    #: One line for each change of the job's state, and the messages of its runs.
    log: tuple[str, ...]
