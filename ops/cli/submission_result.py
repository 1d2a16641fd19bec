"""Outcome of a submission, for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from shlex import quote
from textwrap import indent
from typing import Any

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import DEAD, LIVE, State
from sluice.jobs.text.units import counted
from sluice.ledger.reads.submission_progress import AppDuration, LastOutput, SubmissionProgress, Trouble
from sluice.ops.cli.page import Block, Paragraph, Table, Verbatim
from sluice.ops.text import apart, command, first_line, moment, span

#: Time after which an unplanned submission is reported if no planner is running.
LONELY_AFTER = timedelta(seconds=3)

#: Maximum number of lines that are shown of the output of a failed job.
OUTPUT_LINES = 10
NO_PLANNER = "No planner is running. Start `sluice up` or `sluice worker`."
#: Order of the states in texts: first good ones, then those under way, then dead ones.
_ORDER = [State.SUCCEEDED, State.SKIPPED, *(state for state in State if state in LIVE)]
_RANK = {
    state: place for place, state in enumerate([*_ORDER, *(state for state in State if state not in _ORDER)])
}
_BAD = DEAD - {State.SKIPPED, State.CANCELLED}


def as_document(course: SubmissionProgress) -> dict[str, Any]:
    """Return the progress as a document. The field names are a public contract: ``submission``, ``state`` and
    ``jobs``.
    """
    document: dict[str, Any] = {
        "submission": course.status.id,
        "state": course.status.state,
        "jobs": dict(sorted(course.counts.items(), key=lambda item: _RANK[item[0]])),
    }
    if course.status.is_paused:
        document["paused_at"] = course.status.paused_at
    if course.status.reason:
        document["reason"] = course.status.reason
    if course.troubles:
        document["troubles"] = course.troubles
    return document


def summary(
    course: SubmissionProgress, took: Sequence[AppDuration], outputs: Sequence[LastOutput] = ()
) -> Iterator[Block]:
    """Yield a line for each app, the failed jobs, each with a command and the last lines of its output, the obstacle,
    and the outcome."""
    if course.tally:
        yield _apps(course, {each.app: each for each in took})
    yield from _troubles(course.troubles, {(each.app, each.key): each for each in outputs})
    if (more := sum(course.counts.get(state, 0) for state in _BAD) - len(course.troubles)) > 0:
        yield Paragraph(f"and {more} more: sluice ls --submission {course.status.id}", indent=2)
    if course.status.is_paused:
        yield Paragraph(obstacle(course), "yellow")
    yield _verdict(course)
    has_run = any(each.ended_at for each in took)
    if (
        course.status.state is SubmissionState.SUCCEEDED
        and [*course.counts] == [State.SUCCEEDED]
        and not has_run
    ):
        yield Paragraph(
            "Nothing ran, because all of these jobs had succeeded before. --rerun job runs them again."
        )


def in_words(counts: Mapping[State, int]) -> str:
    """Return counts as text, like ``3 succeeded, 1 running, 2 failed``."""
    ordered = sorted(counts.items(), key=lambda item: _RANK[item[0]])
    return ", ".join(f"{count} {state}" for state, count in ordered)


def obstacle(course: SubmissionProgress) -> str:
    """Return why the submission does not go on or is not planned. Empty if nothing keeps it."""
    if course.status.is_paused:
        return (
            f"Paused since {moment(course.status.paused_at)} UTC, by `sluice pause`."
            f" `sluice resume {quote(course.status.id)}` continues it."
        )
    waits = course.status.state is SubmissionState.RECEIVED and not course.planners
    if waits and course.now - course.status.received_at > LONELY_AFTER:
        return NO_PLANNER
    if course.status.state is SubmissionState.RECEIVED and course.status.reason:
        return f"It is not planned yet: it {course.status.reason}."
    return ""


def _apps(course: SubmissionProgress, took: Mapping[str, AppDuration]) -> Table:
    began = {app: work.began_at for app, work in took.items()}
    rows = [
        (app, sum(counts.values()), *_times(took.get(app)), in_words(counts))
        for app, counts in sorted(
            course.tally.items(), key=lambda item: (item[0] not in began, began.get(item[0]), item[0])
        )
    ]
    return Table(("app", "jobs", "took", "work", "outcome"), rows, prose=True)


def _times(work: AppDuration | None) -> tuple[str, str]:
    if work is None or work.ended_at is None:
        return "", ""
    return span((work.ended_at - work.began_at).total_seconds()), span(work.work_s)


def _troubles(troubles: Sequence[Trouble], outputs: Mapping[tuple[str, str], LastOutput]) -> Iterator[Block]:
    for whose, alike in groupby(troubles, key=lambda each: (each.state, each.app)):
        if whose[0] is State.UPSTREAM_FAILED:
            yield from _upstream_failed([*alike])
            continue
        for trouble in alike:
            yield from _trouble(trouble)
            if output := outputs.get((trouble.app, trouble.key)):
                yield from _tail(output)


def _trouble(trouble: Trouble) -> Iterator[Block]:
    name = JobName(trouble.app, trouble.key)
    error = first_line(trouble.error)
    yield Paragraph(f"{name} {trouble.state} in round {trouble.round}{': ' if error else ''}{error}", "red")
    yield Verbatim(f"  {command('saga show' if trouble.state is State.FATAL else 'logs', name)}")


def _tail(found: LastOutput) -> Iterator[Block]:
    lines = [*found.output.splitlines(), *apart(found.stderr, found.output).splitlines()]
    if len(lines) > OUTPUT_LINES:
        lines = [f"… {counted(len(lines) - OUTPUT_LINES, 'line')} before", *lines[-OUTPUT_LINES:]]
    if lines:
        yield Verbatim(indent("\n".join(lines), "    ", lambda _: True))


def _upstream_failed(troubles: Sequence[Trouble]) -> Iterator[Block]:
    """Yield a line for the jobs of one app that cannot run. Mostly they have the same cause, which is not in the jobs
    themselves.
    """
    name = JobName(troubles[0].app, troubles[0].key)
    more = len(troubles) - 1
    who = f"{name} and {more} more of {name.app}" if more else name
    yield Paragraph(f"{who} cannot run, because {'their' if more else 'its'} parents will not succeed", "red")
    yield Verbatim(f"  {command('why', name)}")


def _verdict(course: SubmissionProgress) -> Paragraph:
    status = course.status
    if status.reason:
        waits = status.state is SubmissionState.RECEIVED
        return Paragraph(f"{status.state}: {status.reason}", "yellow" if waits else "red")
    end = status.ended_at or course.now
    words = f"{in_words(course.counts) or 'no jobs'} in {span((end - status.received_at).total_seconds())}"
    styles = {
        SubmissionState.SUCCEEDED: "green",
        SubmissionState.ACTIVE: "cyan",
        SubmissionState.RECEIVED: "yellow",
    }
    return Paragraph(f"{status.state}: {words}", styles.get(status.state, "red"))
