"""The live display of a submission: a bar for each app, what runs now, and what went wrong."""

import sys
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from jobs.states import DEAD, LIVE, State
from ledger.reads.course import Course
from ops.cli.page import colour, first_line, legible
from ops.cli.result import in_words, obstacle
from ops.times import span

BAR_CHARS = 24
DRAWN_PER_S = 8
#: Of the jobs that run, so many are named.
NAMED_MAX = 4

_GOOD = frozenset({State.SUCCEEDED, State.SKIPPED})


class Bars:
    """A context manager; what it has drawn is gone when it ends. ``ranks`` puts parents before children."""

    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._ranks = ranks
        # Jobs may print. That goes above the bars where it would run through them, else where it was meant to go.
        self._live = Live(
            console=Console(stderr=True),
            refresh_per_second=DRAWN_PER_S,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, course: Course) -> None:
        self._live.update(draw(course, self._ranks))


def draw(course: Course, ranks: Mapping[str, int]) -> RenderableType:
    """One picture."""
    return Group(_bars(course, ranks), *_lines(course))


def _bars(course: Course, ranks: Mapping[str, int]) -> Table:
    table = Table.grid(
        Column(no_wrap=True),
        Column(no_wrap=True),
        Column(no_wrap=True, justify="right"),
        Column(no_wrap=True, overflow="ellipsis"),
        padding=(0, 1),
    )
    for app, counts in sorted(course.tally.items(), key=lambda item: (ranks.get(item[0], 0), item[0])):
        total = sum(counts.values())
        ended = sum(count for state, count in counts.items() if state not in LIVE)
        table.add_row(app, _bar(counts, total), f"{ended}/{total}", _rest(counts))
    return table


def _bar(counts: Mapping[State, int], total: int) -> Text:
    """Green for what is done, red for what is dead, blue for what runs; each has a character if it has a job."""
    bar = Text()
    for states, style in (
        (_GOOD, "green"),
        (DEAD - _GOOD, "red"),
        (frozenset({State.RUNNING, State.EXECUTED}), colour(State.RUNNING)),
    ):
        count = sum(counts.get(state, 0) for state in states)
        room = BAR_CHARS - len(bar)
        bar.append("━" * min(room, max(count > 0, count * BAR_CHARS // total)), style)
    return bar.append("━" * (BAR_CHARS - len(bar)), "bright_black")


def _rest(counts: Mapping[State, int]) -> Text:
    """That it is done shows in the bar; the words are for everything else."""
    return Text(in_words({state: count for state, count in counts.items() if state is not State.SUCCEEDED}))


def _lines(course: Course) -> Iterator[Text]:
    if what := obstacle(course):
        yield Text(what, "yellow")
    elif not course.tally:
        yield Text(f"submission {course.status.id} is {course.status.state} …", "bright_black")
    if course.running:
        names = [
            f"{run.app}/{legible(run.key)} {span((course.now - run.since).total_seconds())}"
            for run in course.running[:NAMED_MAX]
        ]
        more = course.counts.get(State.RUNNING, 0) - len(names)
        yield Text.assemble(
            ("running ", colour(State.RUNNING)), " · ".join(names) + (f" · {more} more" if more > 0 else "")
        )
    for trouble in course.troubles:
        if trouble.state is not State.UPSTREAM_FAILED:
            error = legible(first_line(trouble.error))
            yield Text(
                f"{trouble.app}/{legible(trouble.key)} {trouble.state}: {error}",
                "red",
                overflow="ellipsis",
                no_wrap=True,
            )
