"""What a schedule asks for at each due time, held against the app that it is for."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from jobs.app import App
from jobs.catalogue.policy import parse_policy
from jobs.cron import Cron
from jobs.due_text import fill, speaks_of_due
from jobs.errors import BadKey, BadRequest
from jobs.schedule import Every, Rule
from jobs.submission import Submission
from jobs.wall import instant_of
from jobs.work_ids import parse_work_ids

Complain: TypeAlias = Callable[[str], None]

#: Texts are tried with so many due times from here on, a day or more apart.
_SAMPLES = 31
_FIRST_SAMPLE = date(2026, 1, 1)


def read_wanted(
    request: Mapping[str, Any], app: App | None, samples: list[datetime], complain: Complain
) -> Submission:
    """What is asked for at each due time, tried with these. ``app`` is None where it cannot be told what fits it."""
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
    """The same jobs each time would run the first time alone; so they are run again, unless they are chunks, which
    are new each time."""
    is_same = not speaks_of_due([wanted.key, wanted.keys])
    return msgspec.structs.replace(wanted, rerun="job") if app and not app.chunking and is_same else wanted


def samples(rule: Rule, zone: ZoneInfo) -> Iterator[datetime]:
    """Some of its due times, or, of a trigger, some that may be, in the zone."""
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
    try:
        parse_policy(fill(wanted.policy, samples[0]))
    except BadRequest as error:
        complain(f"policy: {error.what}")
    if app is None:
        return
    if foreign := [word for word in _foreign(app) if getattr(wanted, word) is not None]:
        words = " and ".join(foreign)
        complain(f"{words}: {_keyed(app)}; {words} {'does' if len(foreign) == 1 else 'do'} not say which job")
    if app.chunking and wanted.work_ids is not None:
        try:
            parse_work_ids(fill(wanted.work_ids, samples[0]))
        except ValueError as error:
            complain(f"work_ids: {error}")
    elif not app.chunking:
        for key in wanted.named_keys or ():
            _check_key(key, app, samples, complain)


def _foreign(app: App) -> tuple[str, ...]:
    """Words that belong to other ways of keying jobs."""
    return ("start", "end", "mode", "branch", *(() if app.chunking else ("work_ids", "after")))


def _keyed(app: App) -> str:
    return f"{app.name} is keyed by chunk" if app.chunking else f"{app.name} has keys like {app.example_key}"


def _check_key(key: str, app: App, samples: list[datetime], complain: Complain) -> None:
    """A key is at fault where it fits with no due time: some may be filtered by their values on purpose."""
    errors: list[str] = []
    for due in samples:
        try:
            app.read_key(str(fill(key, due)))
        except BadKey as error:
            errors.append(error.what)
        else:
            return
    complain(f"key: {errors[0].rstrip('.')}; write {key!r} so that it comes out like {app.example_key}")
