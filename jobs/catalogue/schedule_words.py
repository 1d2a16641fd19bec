"""Options of one schedule and the functions that read their values. Each raises ValueError for a wrong value."""

from collections.abc import Mapping
from datetime import date
from functools import partial
from zoneinfo import ZoneInfo

from sluice.jobs.api import Definition
from sluice.jobs.catalogue.faults import Words, nearest, one_of
from sluice.jobs.cron import Cron
from sluice.jobs.durations import read_duration_s
from sluice.jobs.json_value import as_json
from sluice.jobs.ref import JobName
from sluice.jobs.schedule import Asked, CatchUp, Every
from sluice.jobs.submission import JSON

#: Missed due times that may be caught up, at most, unless it is all of them.
CATCH_UP_MAX = 1000

_CATCH_UP = ("none", "last", "all")
_OVERLAP = ("skip", "queue", "replace")
_RERUN = ("job", "downstream")
_PUSH = ("all", "wanted")


def _app(value: object) -> str:
    """Return the name of an app, given by name or as the decorated function."""
    if isinstance(value, Definition):
        return str(value.name)
    return _text(value)


def _cron(value: object) -> Cron:
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is not a cron expression such as "0 2 * * *"')
    return Cron.parse(value)


def _every(value: object) -> Every:
    seconds = read_duration_s(value)
    if seconds < 1 or seconds != int(seconds):
        raise ValueError(f"{value!r} is not a whole number of seconds from 1 on")
    return Every(int(seconds))


def _trigger(value: object) -> Asked:
    if not callable(getattr(value, "get_next_fire_time", None)):
        raise ValueError(f"{value!r} is no trigger: it has no get_next_fire_time(previous, now)")
    try:
        asked = Asked.of(value)  # type: ignore[arg-type] # checked in the line before
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


#: By option for the times: the field of ``jobs.schedule.Schedule`` that it sets, and the function that reads its
#: value.
TIMING_WORDS: Words = {
    "cron": ("rule", _cron),
    "every": ("rule", _every),
    "trigger": ("rule", _trigger),
    "timezone": ("zone", _zone),
    "misfire_grace": ("misfire_grace_s", _grace_s),
    "catch_up": ("catch_up", _catch_up),
    "overlap": ("overlap", partial(one_of, words=_OVERLAP)),
    "jitter": ("jitter_s", read_duration_s),
}
#: By option for the request: the field of the submission, and the function that reads its value.
REQUEST_WORDS: Words = {
    "app": ("app", _app),
    "key": ("key", _text),
    "keys": ("keys", _texts),
    "work_ids": ("work_ids", as_json),
    "start": ("start", _text),
    "end": ("end", _text),
    "kwargs": ("kwargs", _mapping),
    "mode": ("mode", _text),
    "branch": ("branch", _text),
    "user": ("user", _text),
    "rerun": ("rerun", _rerun),
    "push": ("push", partial(one_of, words=_PUSH)),
    "policy": ("policy", _mapping),
    "after": ("after", _names),
}
RULES = ("cron", "every", "trigger")
