"""Schedules of all sources. Each is read by itself and checked against its app."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from sluice.jobs.app import App
from sluice.jobs.catalogue.draft import ScheduleEntry
from sluice.jobs.catalogue.faults import At, Faults, nearest, read_fields, unknown
from sluice.jobs.catalogue.schedule_request import Complain, read_wanted, run_again, samples
from sluice.jobs.catalogue.schedule_words import REQUEST_WORDS, RULES, TIMING_WORDS
from sluice.jobs.schedule import Every, Schedule
from sluice.jobs.submission import Submission

WORDS = (*REQUEST_WORDS, *TIMING_WORDS)
#: Default of ``misfire_grace`` in seconds: a later firing is missed.
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
    entries: Iterable[ScheduleEntry], apps: Mapping[str, App], known: Iterable[str], faults: Faults
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
    app = _app(entry.words, request, apps, known, wrong.append)
    if not wrong:
        zone = timing.setdefault("zone", ZoneInfo("UTC"))
        wanted = read_wanted(request, app, list(samples(timing["rule"], zone)), wrong.append)
        if "rerun" not in entry.words:
            wanted = run_again(wanted, app)
    for what in wrong:
        complain(what)
    return None if wrong else _schedule(entry, timing, wanted)


def _schedule(entry: ScheduleEntry, timing: Mapping[str, Any], wanted: Submission) -> Schedule:
    without_end = timing.get("catch_up") == "all" or isinstance(timing.get("catch_up"), int)
    grace_s = None if without_end else MISFIRE_GRACE_S
    fields = {"misfire_grace_s": grace_s, **timing}
    content = [wanted, fields["rule"].text, fields["zone"].key, {**fields, "rule": None, "zone": None}]
    text = json.dumps(msgspec.to_builtins(content), sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return Schedule(id=str(entry.id), source=entry.source, wanted=wanted, digest=digest, **fields)


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


def _app(
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
