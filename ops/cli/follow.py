"""Progress of a submission until its end: bars on a terminal, occasional lines otherwise.

The progress is polled, because it has no notification. The end is not: the transaction that ends the submission wakes
the command (``actors.end_listener``), so polls may be rare. If the notification is lost, or if a retry has opened the
ended submission again, the next poll decides.

``Standstill`` explains, as ``sluice why`` does, why there has been no progress for some seconds. ``Bars`` is the live
display of a submission: a bar for each app, running jobs, and failures.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack
from datetime import datetime
from shlex import quote
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from sluice.broker.messages import PLANNER
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.runners.run_output import captured_streams
from sluice.jobs.states import DEAD, LIVE, State
from sluice.ledger.database.connection import Tx
from sluice.ledger.lifecycle.awaited_ends import Awaited
from sluice.ledger.reads.submission_progress import (
    ProgressRun,
    SubmissionProgress,
    held_up,
    last_outputs,
    progress,
    work,
)
from sluice.ops.cli.command import DONE, FAILED, INTERRUPTED, REFUSED, WAITED_LONG_ENOUGH
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Verbatim, colour
from sluice.ops.cli.submission_result import as_document, in_words, obstacle, summary
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.job_answers import reasons
from sluice.ops.text import command, first_line, legible, span
from sluice.ops.why.answer import Explanation, in_brief

#: Maximum share of the time that polls take, however many jobs have to be counted.
LOOK_SHARE = 0.1
#: Seconds between two polls for the bars of a terminal: 0.1, in which a person sees a movement.
BARS_EVERY_S = 0.1
#: Seconds between two polls for lines: 1, a third of the time after which a missing planner is reported.
LINES_EVERY_S = 1.0
#: Seconds between two lines of progress without a terminal. A line is written only if the progress has changed.
SAY_EVERY_S = 10.0
#: Seconds without progress before the reason is shown, and between two queries for it: 5. A notification that is lost
#: is repeated within a tick, and a failed job is often retried sooner.
STILL_AFTER_S = 5.0

_CODES = {SubmissionState.SUCCEEDED: DONE, SubmissionState.REFUSED: REFUSED}


def watch(
    context: CommandContext,
    installation: Installation,
    submission: str,
    timeout_s: float | None = None,
    *,
    shows_output: bool = False,
) -> int:
    """Show the progress of a submission and its outcome. Return the exit code for the shell. After ``timeout_s`` the
    wait ends, and the submission stays as it is. With ``shows_output``, show the output of failed jobs."""
    every_s = BARS_EVERY_S if context.output.is_interactive else LINES_EVERY_S
    looks = _looks(installation, submission, every_s, math.inf if timeout_s is None else timeout_s)
    standstill = Standstill(lambda: _why(context, installation, submission))
    show = _with_bars if context.output.is_interactive else _with_lines
    try:
        last = show(context, looks, standstill)
    except KeyboardInterrupt:
        return _interrupted(context, installation, submission)
    if last.status.is_open:
        return _timed_out(context, last, standstill)
    took = installation.ask(lambda tx: work(tx, last.status.number))
    outputs = installation.ask(lambda tx: last_outputs(tx, last.status.number)) if shows_output else []
    context.output.answer(as_document(last), *summary(last, took, outputs))
    return _CODES.get(last.status.state, FAILED)


def _looks(
    installation: Installation, submission: str, every_s: float, timeout_s: float
) -> Iterator[SubmissionProgress]:
    """Poll the submission until it has ended or the time is over, and at once when it ends. The last value is the end,
    or the progress when the time was over."""
    end = installation.client.end_of(Awaited(submission, of_job=False))
    over_at = time.monotonic() + timeout_s
    is_woken = False
    try:
        while True:
            began = time.monotonic()
            now = installation.ask(lambda tx: _look(tx, submission))
            yield now
            if not now.status.is_open or began >= over_at:
                return
            rests_s = max(every_s, (time.monotonic() - began) / LOOK_SHARE)
            rests_s = min(rests_s, max(0.0, over_at - time.monotonic()))
            if is_woken:
                time.sleep(rests_s)
            else:
                is_woken = bool(wait([end], rests_s).done)
    finally:
        end.cancel()


def _why(context: CommandContext, installation: Installation, submission: str) -> Explanation | None:
    """Explain the job that the submission waits for. None if one of its jobs runs."""
    job = installation.ask(lambda tx: held_up(tx, submission))
    return reasons(context, installation, *job)[0] if job else None


def _look(tx: Tx, submission: str) -> SubmissionProgress:
    found = progress(tx, submission, planner_queue=PLANNER)
    if found is None:
        raise BadRequest(f"Submission {submission} is no longer in the ledger.")
    return found


def _with_bars(
    context: CommandContext, looks: Iterator[SubmissionProgress], standstill: "Standstill"
) -> SubmissionProgress:
    ranks = (
        {name: context.catalogue.rank(name) for name in context.catalogue} if context.settings.apps else {}
    )
    with Bars(ranks) as bars:
        for now in looks:
            why = standstill.explained(now)
            bars.show(now, in_brief(why) if why else "")
    return now


def _with_lines(
    context: CommandContext, looks: Iterator[SubmissionProgress], standstill: "Standstill"
) -> SubmissionProgress:
    said, said_at = "", time.monotonic()
    for now in looks:
        is_time = time.monotonic() - said_at > SAY_EVERY_S
        what = obstacle(now) or (in_words(now.counts) if is_time else "")
        if what and what != said:
            context.output.note(Paragraph(what))
            said, said_at = what, time.monotonic()
        if (why := standstill.explained(now)) and standstill.is_news(why):
            name = JobName(why.app, why.key)
            context.output.note(Paragraph(in_brief(why), "yellow"), Verbatim(f"  {command('why', name)}"))
    return now


class Standstill:
    """Reason why a submission makes no progress, if it has made none for ``STILL_AFTER_S`` seconds.

    ``ask`` returns the reason, or None while a job runs. ``clock`` returns seconds.
    """

    def __init__(
        self, ask: Callable[[], Explanation | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._seen: object = None
        self._ask_at = 0.0
        self._why: Explanation | None = None
        self._told: set[object] = set()

    def explained(self, now: SubmissionProgress) -> Explanation | None:
        """Return the reason; None if there is progress, or if the progress itself has a known obstacle."""
        seen, moment = (now.status.state, now.tally), self._clock()
        if seen != self._seen or not now.status.is_open or obstacle(now):
            self._seen, self._why, self._ask_at = seen, None, moment + STILL_AFTER_S
        elif moment >= self._ask_at:
            self._why, self._ask_at = self._ask(), moment + STILL_AFTER_S
        return self._why

    def is_news(self, why: Explanation) -> bool:
        """Return whether this reason is given for the first time. Times and counts in its text do not matter. If it is
        about other jobs, these matter, and not the job that waits for them."""
        of = tuple((each.kind, each.app, each.key) for each in why.waits_for) or why.because
        is_news = of not in self._told
        self._told.add(of)
        return is_news


def _interrupted(context: CommandContext, installation: Installation, submission: str) -> int:
    """Report the interruption. Nothing is lost: running jobs are handed back by their workers, and the submission
    stays.
    """
    now = installation.ask(lambda tx: _look(tx, submission))
    context.output.note(
        Paragraph(f"Interrupted. Submission {submission} is kept, and its unfinished jobs will run later."),
        Paragraph(
            f"Continue it with `sluice up --drain`, or stop it with `sluice cancel {submission}`.", indent=2
        ),
    )
    if context.output.is_document:
        context.output.answer({**as_document(now), "interrupted": True})
    return INTERRUPTED


def _timed_out(context: CommandContext, last: SubmissionProgress, standstill: Standstill) -> int:
    """Report that the wait has ended before the submission, which stays in the ledger."""
    id_ = quote(last.status.id)
    if (why := standstill.explained(last)) and standstill.is_news(why):
        context.output.note(Paragraph(in_brief(why), "yellow"))
    context.output.note(
        Paragraph(
            f"The time of --wait-timeout is over, and submission {id_} is {last.status.state}.", "yellow"
        ),
        Paragraph(f"Workers, or `sluice up --drain`, continue it. `sluice cancel {id_}` stops it.", indent=2),
    )
    if context.output.is_document:
        context.output.answer({**as_document(last), "wait_timed_out": True})
    return WAITED_LONG_ENOUGH


BAR_CHARS_MIN, BAR_CHARS_MAX = 8, 24
#: Characters for the text beside a bar. The bar gets shorter to leave this room.
WORDS_CHARS = 32
DRAWN_PER_S = 8
#: Maximum number of names shown of running jobs, of retried jobs and of failed jobs.
NAMED_MAX = 3

_GOOD = frozenset({State.SUCCEEDED, State.SKIPPED})
_PARTS = (
    (_GOOD, "green"),
    (DEAD - _GOOD, "red"),
    (frozenset({State.RUNNING, State.EXECUTED}), colour(State.RUNNING)),
)


class Bars:
    """Live display as a context manager. It removes its drawing at the end. ``ranks`` puts parents before children."""

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._ranks = ranks
        self._console = Console(stderr=True)
        # Output of jobs appears above the bars.
        self._live = Live(console=self._console, refresh_per_second=DRAWN_PER_S, transient=True)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        self._live.start()
        self._opened.callback(self._live.stop)
        # The display has put its own streams in front of the streams that capture the output of runs.
        self._opened.enter_context(captured_streams(passes_on=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def show(self, shown: SubmissionProgress, why: str = "") -> None:
        self._live.update(draw(shown, self._ranks, self._console.width, why))


def draw(shown: SubmissionProgress, ranks: Mapping[str, int], width: int, why: str = "") -> RenderableType:
    """Return one picture. A job that was split is left out, because its halves are shown in its place. ``why`` is the
    reason for which there is no progress."""
    tally = {app: _without_split(counts) for app, counts in shown.tally.items()}
    rows = sorted(tally.items(), key=lambda item: (ranks.get(item[0], 0), item[0]))
    reason = [_short(why, width, "yellow")] if why else []
    return Group(*_bars(rows, width), *_lines(shown, width), *reason)


def _without_split(counts: Mapping[State, int]) -> Mapping[State, int]:
    return {state: count for state, count in counts.items() if state is not State.SPLIT}


def _bars(rows: Sequence[tuple[str, Mapping[State, int]]], width: int) -> Iterator[Text]:
    name_chars = min(max((len(app) for app, _ in rows), default=0), width // 3)
    chars = min(max(width - name_chars - WORDS_CHARS, BAR_CHARS_MIN), BAR_CHARS_MAX)
    shares = [_share(counts) for _, counts in rows]
    share_chars = max(map(len, shares), default=0)
    for (app, counts), share in zip(rows, shares, strict=True):
        name = Text(app)
        name.truncate(name_chars, overflow="ellipsis", pad=True)
        line = Text.assemble(
            name, " ", _bar(counts, chars), " ", share.rjust(share_chars), " ", _rest(counts)
        )
        line.truncate(width - 1, overflow="ellipsis")
        yield line


def _share(counts: Mapping[State, int]) -> str:
    ended = sum(count for state, count in counts.items() if state not in LIVE)
    return f"{ended}/{sum(counts.values())}"


def _bar(counts: Mapping[State, int], chars: int) -> Text:
    """Return a bar: green for successful jobs, red for dead jobs, cyan for running jobs. Each colour with a job has at
    least one character.
    """
    bar, total = Text(), sum(counts.values())
    for states, style in _PARTS:
        count = sum(counts.get(state, 0) for state in states)
        bar.append("━" * min(chars - len(bar), max(count > 0, count * chars // total)), style)
    return bar.append("━" * (chars - len(bar)), "bright_black")


def _rest(counts: Mapping[State, int]) -> str:
    """Return the counts as text, without the successful jobs. The bar shows these."""
    return in_words({state: count for state, count in counts.items() if state is not State.SUCCEEDED})


def _lines(shown: SubmissionProgress, width: int) -> Iterator[Text]:
    if what := obstacle(shown):
        yield Text(what, "yellow")
    elif not shown.tally:
        yield Text(f"submission {shown.status.id} is {shown.status.state} …", "bright_black")
    if shown.running:
        yield _running(shown)
    for trouble in shown.retrying[:NAMED_MAX]:
        text = f"{trouble.app}/{trouble.key} is tried again, after: {first_line(trouble.error)}"
        yield _short(text, width, "yellow")
    dead = [trouble for trouble in shown.troubles if trouble.state is not State.UPSTREAM_FAILED]
    for trouble in dead[:NAMED_MAX]:
        text = f"{trouble.app}/{trouble.key} {trouble.state}: {first_line(trouble.error)}"
        yield _short(text, width, "red")


def _running(shown: SubmissionProgress) -> Text:
    names = " · ".join(_named(run, shown.now) for run in shown.running[:NAMED_MAX])
    more = shown.counts.get(State.RUNNING, 0) - NAMED_MAX
    return Text.assemble(("running ", colour(State.RUNNING)), f"{names} · {more} more" if more > 0 else names)


def _named(run: ProgressRun, now: datetime) -> str:
    """Return the name of a running job, with its duration if that is at least one second."""
    seconds = (now - run.since).total_seconds()
    name = f"{run.app}/{legible(run.key)}"
    return f"{name} {span(int(seconds))}" if seconds >= 1 else name


def _short(text: str, width: int, style: str) -> Text:
    """Shorten a text to two lines, because the picture has to fit on the screen."""
    shown = Text(legible(text), style)
    shown.truncate(2 * width - 1, overflow="ellipsis")
    return shown
