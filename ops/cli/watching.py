"""Following a submission to its end: progress bars on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Iterator, Mapping

from msgspec import Struct
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from jobs.states import DEAD, LIVE, State
from jobs.submission import SubmissionState
from ledger.connection import Tx
from ledger.reads import progress
from ops.cli.desk import Desk

LOOK_EVERY_S = 0.1
#: Where there is no terminal, how far it is is said this often.
SAY_EVERY_S = 10.0

_GOOD = {State.SUCCEEDED, State.SKIPPED}
Tally = Mapping[str, Mapping[State, int]]


class End(Struct, frozen=True):
    """How a submission ended, and its jobs by state."""

    status: progress.Status
    tally: Tally


def watch(desk: Desk, submission: str) -> End:
    """Wait for the end, showing the way there."""
    if desk.output.is_terminal:
        return _with_bars(desk, submission)
    said_at = time.monotonic()
    for end in _looks(desk, submission):
        if time.monotonic() - said_at > SAY_EVERY_S:
            desk.output.console.print(f"{_summary(end.tally)}", style="dim")
            said_at = time.monotonic()
    return end


def report(desk: Desk, end: End) -> int:
    """Say how it ended; the exit code that tells a shell."""
    counts = _by_state(end.tally)
    if desk.output.as_json:
        document: dict[str, object] = {"submission": end.status.id, "state": end.status.state, "jobs": counts}
        if end.status.reason:
            document["reason"] = end.status.reason
        desk.output.document(document)
    else:
        style = "green" if end.status.state is SubmissionState.SUCCEEDED else "red"
        desk.output.line(f"{end.status.state}: {_summary(end.tally) or end.status.reason or 'no jobs'}", style=style)
    if end.status.state is SubmissionState.REFUSED:
        return 2
    return 0 if end.status.state is SubmissionState.SUCCEEDED else 1


def _looks(desk: Desk, submission: str) -> Iterator[End]:
    """Look until it has ended; the last one is the end."""
    while True:
        end = desk.ledger.transact(lambda tx: _look(tx, submission))
        yield end
        if end.status.state not in (SubmissionState.RECEIVED, SubmissionState.ACTIVE):
            return
        time.sleep(LOOK_EVERY_S)


def _look(tx: Tx, submission: str) -> End:
    status = progress.status(tx, submission)
    assert status is not None, "the submission was taken in before anybody watches it"
    return End(status, progress.tally(tx, status.number))


def _with_bars(desk: Desk, submission: str) -> End:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), TimeElapsedColumn())
    with Progress(*columns, console=desk.output.console) as bars:
        tasks: dict[str, TaskID] = {}
        for end in _looks(desk, submission):
            for app, counts in end.tally.items():
                if app not in tasks:
                    tasks[app] = bars.add_task(app, words="")
                ended = sum(count for state, count in counts.items() if state not in LIVE)
                bars.update(
                    tasks[app], total=sum(counts.values()), completed=ended, words=_words(counts)
                )
    return end


def _by_state(tally: Tally) -> dict[State, int]:
    counts: dict[State, int] = {}
    for by_state in tally.values():
        for state, count in by_state.items():
            counts[state] = counts.get(state, 0) + count
    return counts


def _summary(tally: Tally) -> str:
    return _words(_by_state(tally))


def _words(counts: Mapping[State, int]) -> str:
    """The good first, then what is under way, then the dead."""
    rank = {state: place for place, state in enumerate([*_GOOD, *LIVE, *DEAD])}
    ordered = sorted(counts.items(), key=lambda item: rank[item[0]])
    return ", ".join(f"{count} {state}" for state, count in ordered)
