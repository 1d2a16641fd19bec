"""Options of schedules, and the check of their submissions.

``read_schedules`` reads the schedules of all sources, each by itself, and checks each against its app. ``TIMING_WORDS``
and ``REQUEST_WORDS`` have the options of one schedule and the functions that read their values. Each function raises
ValueError for a wrong value. ``read_wanted`` checks a schedule's submission against its app.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import islice
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from sluice.jobs.catalogue.errors import (
    At,
    DefinitionFaults,
    Words,
    name_of_app,
    nearest,
    one_of,
    read_fields,
    unknown,
)
from sluice.jobs.catalogue.fields.draft import ScheduleEntry
from sluice.jobs.catalogue.fields.notify_option import parse_rules
from sluice.jobs.catalogue.fields.policy_options import parse_policy
from sluice.jobs.catalogue.fields.submitter_options import refused_options
from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.identifiers import parse_day
from sluice.jobs.keys.partitions import UNBOUNDED, read_span, without_slice, without_version
from sluice.jobs.keys.work_ids import parse_work_ids
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.jobs.model.request_limits import large_policy
from sluice.jobs.model.submission import JSON, Submission
from sluice.jobs.schedules.cron import Cron, instant_of
from sluice.jobs.schedules.due_template import fill, speaks_of_due
from sluice.jobs.schedules.schedule import CatchUp, Every, Rule, Schedule, UserTrigger
from sluice.jobs.text.json_value import as_json
from sluice.jobs.text.units import read_duration_s

#: Missed due times that may be caught up, at most, unless it is all of them.
CATCH_UP_MAX = 1000

_CATCH_UP = ("none", "last", "all")
_OVERLAP = ("skip", "queue", "replace")
_RERUN = ("job", "downstream")
_PUSH = ("all", "wanted")


def _cron(value: object) -> Cron:
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is not a cron expression like "0 2 * * *"')
    return Cron.parse(value)


def _every(value: object) -> Every:
    seconds = read_duration_s(value)
    if seconds < 1 or seconds != int(seconds):
        raise ValueError(f"{value!r} is not a whole number of seconds from 1 on")
    return Every(int(seconds))


def _trigger(value: object) -> UserTrigger:
    if not callable(getattr(value, "get_next_fire_time", None)):
        raise ValueError(f"{value!r} is no trigger: it has no get_next_fire_time(previous, now)")
    try:
        asked = UserTrigger.of(value)  # type: ignore[arg-type] # checked in the line before
        as_json(asked.text)
    except Exception as error:
        raise ValueError(f"the trigger cannot be converted to text: {error}") from error
    return asked


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(_text(value))
    except (OSError, ValueError, LookupError):
        raise ValueError(f"there is no time zone {value!r}{_near_zone(value)}") from None


def _near_zone(value: object) -> str:
    from zoneinfo import available_timezones  # noqa: PLC0415 - it reads some hundred files

    known = available_timezones()
    return (
        nearest(value, known) if known else ", nor any other: this machine has no time zones; install tzdata"
    )


def _grace_s(value: object) -> float | None:
    return None if value is None else read_duration_s(value)


def _catch_up(value: object) -> CatchUp:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= CATCH_UP_MAX:
        return value
    if value in _CATCH_UP:
        return value  # type: ignore[return-value] # it is one of the three words
    raise ValueError(f"{value!r} is none of {', '.join(_CATCH_UP)} or a number from 1 to {CATCH_UP_MAX}")


def _text(value: object) -> str:
    """Return a text. Numbers and dates of YAML and TOML are read like the text that they stand for."""
    if isinstance(value, date):
        value = value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{value!r} is not a text")
    return str(as_json(str(value)))


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of texts")
    return tuple(map(_text, value))


def _names(value: object) -> tuple[JobName, ...]:
    """Return job names written as ``app/key``."""
    pairs = [text.partition("/") for text in _texts(value)]
    if wrong := [app for app, slash, key in pairs if not (app and slash and key)]:
        raise ValueError(f"{wrong[0]!r} names no job; write its app, a slash and its key")
    return tuple(JobName(app, key) for app, _, key in pairs)


def _mapping(value: object) -> dict[str, JSON]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a mapping")
    return dict(as_json(value))


def _rerun(value: object) -> str | None:
    """Return a rerun mode. Null is a value, too: no rerun."""
    return None if value is None else one_of(value, _RERUN)


#: By option for the times: the field of ``Schedule`` that it sets, and the function that reads its value.
TIMING_WORDS: Words = {
    "cron": ("rule", _cron),
    "every": ("rule", _every),
    "trigger": ("rule", _trigger),
    "timezone": ("zone", _zone),
    "misfire_grace": ("misfire_grace_s", _grace_s),
    "catch_up": ("catch_up", _catch_up),
    "overlap": ("overlap", partial(one_of, words=_OVERLAP)),
    "jitter": ("jitter_s", read_duration_s),
    "notify": ("notify", parse_rules),
}
#: By option for the request: the field of the submission, and the function that reads its value.
REQUEST_WORDS: Words = {
    "app": ("app", name_of_app),
    "key": ("key", _text),
    "keys": ("keys", _texts),
    "work_ids": ("work_ids", as_json),
    "start": ("start", _text),
    "end": ("end", _text),
    "kwargs": ("kwargs", _mapping),
    "mode": ("mode", _text),
    "branch": ("branch", _text),
    "by": ("by", _mapping),
    "user": ("user", _text),
    "rerun": ("rerun", _rerun),
    "push": ("push", partial(one_of, words=_PUSH)),
    "policy": ("policy", _mapping),
    "after": ("after", _names),
}
RULES = ("cron", "every", "trigger")


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
    is_same = not speaks_of_due([wanted.key, wanted.keys, wanted.start, wanted.end])
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
        _check_slices(wanted, app, complain)
        _check_partitions(wanted, app, app.partitioning.calendar, samples[0], complain)
    elif app.is_keyed_by_template:
        for key in wanted.named_keys or ():
            _check_key(key, app, samples, complain)
        if wanted.has_span:
            _check_days(wanted, samples[0], complain)


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
    of_chunks, span, of_partitions = ("work_ids", "after"), ("start", "end"), ("by", "mode", "branch")
    if app.partitioning:
        return of_chunks
    if app.chunking:
        return (*span, *of_partitions)
    return (*(() if len(app.days) == 1 else span), *of_partitions, *of_chunks)


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
            text = _without_slice(app, text)
            if not app.unbounded or text != UNBOUNDED:
                read_span(calendar, text)
        if wanted.has_span:
            start, end = (calendar.read(str(fill(text, due))) for text in (wanted.start, wanted.end))
            if end < start:
                raise ValueError(f"{wanted.end} comes before {wanted.start}")
    except ValueError as error:
        complain(f"{'start and end' if wanted.has_span else 'key'}: {error}")


def _check_slices(wanted: Submission, app: App, complain: Complain) -> None:
    by = app.partitioning.by if app.partitioning else None
    if wanted.by is None:
        return
    if by is None:
        complain(f"by: {app.name} has no second dimension; leave it out")
        return
    try:
        by.chosen(wanted.by)
    except ValueError as error:
        complain(f"by: {error}")


def _without_slice(app: App, text: str) -> str:
    """Return the partitions of a key. ValueError if the app has slices, and the key names none of them."""
    by = app.partitioning.by if app.partitioning else None
    if by is None:
        return text
    value, partitions = without_slice(text)
    if value not in by.values:
        raise ValueError(f"{text!r} names no {by.name}; its values: {', '.join(by.values)}")
    return partitions


def _check_days(wanted: Submission, due: datetime, complain: Complain) -> None:
    """Complain if start and end are no days, or in the wrong order."""
    try:
        first, last = (parse_day(str(fill(text, due))) for text in (wanted.start, wanted.end))
    except ValueError as error:
        complain(f"start and end: {error}")
        return
    if last < first:
        complain(f"start and end: {wanted.end} comes before {wanted.start}")


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


WORDS = (*REQUEST_WORDS, *TIMING_WORDS)
#: Default of ``misfire_grace`` in seconds for intervals and triggers: a later firing is missed.
MISFIRE_GRACE_S = 1800.0
#: Longest id in characters. It is part of each submission's id, which has at most 200 characters.
_ID_CHARACTERS_MAX = 120


def schedules_of_document(value: object, source: str, at: At) -> Iterator[ScheduleEntry]:
    """Yield the ``schedules`` of a document: a list of mappings with an ``id``, or a mapping of ids to mappings."""
    named: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        named = value.items()
    elif isinstance(value, list):
        named = [each for place, words in enumerate(value) if (each := _named(words, place, at))]
    else:
        at.inside("schedules").add(f"it has to be a list of mappings, or a mapping of ids; this is {value!r}")
    for id_, words in named:
        yield ScheduleEntry(origin=at.source, source=source, id=id_, words=words)


def _named(words: object, place: int, at: At) -> tuple[object, object] | None:
    if isinstance(words, Mapping) and "id" in words:
        return words["id"], {word: value for word, value in words.items() if word != "id"}
    at.inside(f"schedules, entry {place + 1}").add("it has to be a mapping with an id")
    return None


def read_schedules(
    entries: Iterable[ScheduleEntry], apps: Mapping[str, App], known: Iterable[str], faults: DefinitionFaults
) -> dict[str, Schedule]:
    """Return the schedules without a fault. ``known`` names all existing apps, ``apps`` has the apps
    without a fault.
    """
    names = frozenset(known)
    first: dict[object, ScheduleEntry] = {}
    schedules: dict[str, Schedule] = {}
    for entry in entries:
        at = At(faults, entry.origin, within=f"schedules.{entry.id}")
        if not _is_id(entry.id):
            at.add(
                f"an id is a text of 1 to {_ID_CHARACTERS_MAX} characters that can be printed, without ':'"
            )
            continue
        other = first.setdefault(entry.id, entry)
        if other is entry:
            if schedule := _read(entry, apps, names, at.add):
                schedules[schedule.id] = schedule
        elif entry.definition is None or entry.definition is not other.definition:
            at.add(f"it is defined in {other.origin} already")
    return schedules


def _is_id(id_: object) -> bool:
    return (
        isinstance(id_, str)
        and 0 < len(id_) <= _ID_CHARACTERS_MAX
        and id_.isprintable()
        and id_ == id_.strip()
        and not id_.startswith("-")
        and ":" not in id_
    )


def _read(
    entry: ScheduleEntry, apps: Mapping[str, App], known: frozenset[str], complain: Complain
) -> Schedule | None:
    if not isinstance(entry.words, Mapping):
        complain(f"a schedule is a mapping of options; this is {entry.words!r}")
        return None
    wrong: list[str] = [unknown(word, WORDS) for word in entry.words if word not in WORDS]
    request = read_fields(REQUEST_WORDS, entry.words, wrong.append)
    timing = read_fields(TIMING_WORDS, entry.words, wrong.append)
    _check_rule(entry.words, timing, wrong.append)
    app = _app_of(entry.words, request, apps, known, wrong.append)
    if not wrong:
        zone = timing.setdefault("zone", ZoneInfo("UTC"))
        wanted = read_wanted(request, app, list(samples(timing["rule"], zone)), wrong.append)
        if "rerun" not in entry.words:
            wanted = run_again(wanted, app)
    for what in wrong:
        complain(what)
    return None if wrong else _schedule(entry, timing, wanted)


def _schedule(entry: ScheduleEntry, timing: Mapping[str, Any], wanted: Submission) -> Schedule:
    fields = {"misfire_grace_s": _default_grace_s(timing), **timing}
    content = [wanted, fields["rule"].text, fields["zone"].key, {**fields, "rule": None, "zone": None}]
    text = json.dumps(msgspec.to_builtins(content), sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return Schedule(id=str(entry.id), source=entry.source, wanted=wanted, digest=digest, **fields)


def _default_grace_s(timing: Mapping[str, Any]) -> float | None:
    """Return the grace of a schedule that sets none: unlimited for cron, because a nightly run must happen even if the
    system was down all night, and for several due times that are caught up."""
    catch_up = timing.get("catch_up", "last")
    is_unlimited = isinstance(timing["rule"], Cron) or catch_up == "all" or isinstance(catch_up, int)
    return None if is_unlimited else MISFIRE_GRACE_S


def _check_rule(words: Mapping[Any, object], timing: Mapping[str, Any], complain: Complain) -> None:
    rules = [word for word in RULES if word in words]
    if len(rules) != 1:
        complain(
            f"{' and '.join(rules)} contradict each other; write only one"
            if rules
            else "it has neither cron nor every"
        )
    rule, jitter_s = timing.get("rule"), timing.get("jitter_s", 0.0)
    if isinstance(rule, Every) and jitter_s >= rule.seconds:
        complain(f"jitter: {words['jitter']!r} is not shorter than every, {words['every']!r}")


def _app_of(
    words: Mapping[Any, object],
    request: Mapping[str, Any],
    apps: Mapping[str, App],
    known: frozenset[str],
    complain: Complain,
) -> App | None:
    """Return the app, or None if it does not exist or has a fault itself."""
    name = request.get("app")
    if "app" not in words:
        complain("it has no app")
    elif name is not None and name not in known:
        complain(f"app: there is no app {name!r}{nearest(name, known)}")
    return apps.get(str(name))
