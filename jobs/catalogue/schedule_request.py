"""Check of a schedule's submission against its app."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from sluice.jobs.app import App
from sluice.jobs.calendar import Calendar
from sluice.jobs.catalogue.policy import parse_policy
from sluice.jobs.catalogue.submitters import refused_options
from sluice.jobs.cron import Cron
from sluice.jobs.due_text import fill, speaks_of_due
from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.partition_key import UNBOUNDED, read_span, without_version
from sluice.jobs.request_limits import large_policy
from sluice.jobs.schedule import Every, Rule
from sluice.jobs.submission import Submission
from sluice.jobs.wall import instant_of
from sluice.jobs.work_ids import parse_work_ids

Complain: TypeAlias = Callable[[str], None]

#: Due times with which texts are tried. They are a day or more apart, from this day on.
_SAMPLES = 31
_FIRST_SAMPLE = date(2026, 1, 1)


def read_wanted(
    request: Mapping[str, Any], app: App | None, samples: list[datetime], complain: Complain
) -> Submission:
    """Return the submission for each due time, after trying it with these samples.

    ``app`` is None if the app is unknown; then its fit is not checked.
    """
    try:
        wanted = Submission(**request)
    except ValueError as error:
        complain(str(error))
        return Submission(app=request["app"])
    for word, value in msgspec.to_builtins(wanted).items():
        try:
            fill(value, samples[0])
        except (ValueError, OverflowError) as error:
            complain(f"{word}: {error}")
            return wanted
    _check_request(wanted, app, samples, complain)
    return wanted


def run_again(wanted: Submission, app: App | None) -> Submission:
    """Return the submission with a rerun, if it requests the same jobs of an app with key templates at every due
    time.

    Without a rerun they would only run at the first due time. Chunks need none, because they are new each time. For
    partitions, only missing ones are made and existing ones stay.
    """
    is_same = not speaks_of_due([wanted.key, wanted.keys])
    if app and app.is_keyed_by_template and is_same:
        return msgspec.structs.replace(wanted, rerun="job")
    return wanted


def samples(rule: Rule, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield some due times of the rule, in the zone. For a trigger they are only possible times."""
    if isinstance(rule, Cron):
        at = time(rule.hours[0], rule.minutes[0])
        days = islice(rule.days_from(_FIRST_SAMPLE), _SAMPLES)
        return (instant_of(datetime.combine(day, at), zone).astimezone(zone) for day in days)
    step = timedelta(days=1)
    first = datetime.combine(_FIRST_SAMPLE, time(), UTC)
    if isinstance(rule, Every):
        seconds = rule.seconds * max(1, 86_400 // rule.seconds)
        first += timedelta(seconds=-first.timestamp() % rule.seconds)
        step = timedelta(seconds=seconds)
    return ((first + step * number).astimezone(zone) for number in range(_SAMPLES))


def _check_request(wanted: Submission, app: App | None, samples: list[datetime], complain: Complain) -> None:
    _check_policy(fill(wanted.policy, samples[0]), app, complain)
    if app is None:
        return
    if foreign := wanted.words_of(_foreign(app)):
        words = " and ".join(foreign)
        complain(f"{words}: {_keyed(app)}; {words} {'does' if len(foreign) == 1 else 'do'} not select a job")
    if app.chunking and wanted.work_ids is not None:
        try:
            parse_work_ids(fill(wanted.work_ids, samples[0]))
        except ValueError as error:
            complain(f"work_ids: {error}")
    elif app.partitioning and not foreign:
        _check_partitions(wanted, app, app.partitioning.calendar, samples[0], complain)
    elif app.is_keyed_by_template:
        for key in wanted.named_keys or ():
            _check_key(key, app, samples, complain)


def _check_policy(asked: Mapping[str, Any], app: App | None, complain: Complain) -> None:
    try:
        parse_policy(asked)
    except BadRequest as error:
        complain(f"policy: {error.what}")
        return
    if reason := large_policy(asked):
        complain(f"policy: its {reason}")
    if app is None:
        return
    for option, why in refused_options(app.policy, asked):
        complain(f"policy: {option}: {why}")
    if "debug" in asked and app.saga is None:
        complain(f"policy: debug: {app.name} is no saga, so it has no steps that could fail")


def _foreign(app: App) -> tuple[str, ...]:
    """Return the options that belong to other ways of keying jobs."""
    of_chunks, of_partitions = ("work_ids", "after"), ("start", "end", "mode", "branch")
    if app.partitioning:
        return of_chunks
    return of_partitions if app.chunking else (*of_partitions, *of_chunks)


def _keyed(app: App) -> str:
    if app.partitioning:
        return f"{app.name} is keyed by partition"
    return f"{app.name} is keyed by chunk" if app.chunking else f"{app.name} has keys like {app.example_key}"


def _check_partitions(
    wanted: Submission, app: App, calendar: Calendar, due: datetime, complain: Complain
) -> None:
    """Complain if the partitions are invalid, or missing. Work that never ends needs none."""
    if wanted.named_keys is None and not wanted.has_span:
        if not app.unbounded:
            example = f"{{due-1d:{calendar.pattern}}}"
            complain(f"start and end: {_keyed(app)}, and start and end select them, like {example}")
        return
    try:
        for key in wanted.named_keys or ():
            text, _ = without_version(str(fill(key, due)))
            if not app.unbounded or text != UNBOUNDED:
                read_span(calendar, text)
        if wanted.has_span:
            start, end = (calendar.read(str(fill(text, due))) for text in (wanted.start, wanted.end))
            if end < start:
                raise ValueError(f"{wanted.end} comes before {wanted.start}")
    except ValueError as error:
        complain(f"{'start and end' if wanted.has_span else 'key'}: {error}")


def _check_key(key: str, app: App, samples: list[datetime], complain: Complain) -> None:
    """Complain about a key that fits with no due time. Some due times may be excluded by their values on purpose."""
    errors: list[str] = []
    for due in samples:
        try:
            app.read_key(str(fill(key, due)))
        except BadKey as error:
            errors.append(error.what)
        else:
            return
    complain(f"key: {errors[0].rstrip('.')}; write {key!r} so that the result is like {app.example_key}")
