"""Schedules with one fault each, and a part of its message."""

from typing import Any

from sluice.jobs.catalogue.fields.schedule_options import CATCH_UP_MAX
from tests.jobs.catalogue.faulty_apps import Fault

APPS: dict[str, Any] = {
    "daily": {"job_id": "{date}", "identifiers": {"date": "date"}},
    "shops": {"job_id": "{date}_{shop}", "identifiers": {"date": "date", "shop": ["graz", "oslo"]}},
    "chunks": {"chunk_size": 3, "bash_cmd": "true"},
    "days": {"step_size": 7, "partition": {"format": "%Y%m%d"}},
}
SOUND = {"app": "daily", "key": "{due:%Y%m%d}", "cron": "0 2 * * *"}


def timed(**words: Any) -> dict[str, Any]:
    """Return a document with a valid schedule, changed by these options. ``...`` leaves an option out."""
    given = {word: value for word, value in {**SOUND, **words}.items() if value is not ...}
    return {**APPS, "schedules": {"s": given}}


FAULTS_OF_SCHEDULES: dict[str, Fault] = {
    # Place and id.
    "a text for schedules": ({**APPS, "schedules": "daily"}, "schedules: it has to be a list of mappings"),
    "no id": ({**APPS, "schedules": [SOUND]}, "schedules, entry 1: it has to be a mapping with an id"),
    "a schedule that is no mapping": ({**APPS, "schedules": {"s": "daily"}}, "s: a schedule is a mapping of options"),
    "two schedules with one id": (
        {**APPS, "schedules": [{"id": "s", **SOUND}, {"id": "s", **SOUND}]},
        "schedules.s: it is defined in",
    ),
    "an id that is no text": ({**APPS, "schedules": [{"id": 7, **SOUND}]}, "schedules.7: an id is a text of 1 to 120"),
    "an id with a colon": ({**APPS, "schedules": {"a:b": SOUND}}, "schedules.a:b: an id is a text"),
    "an id like an option": ({**APPS, "schedules": {"-s": SOUND}}, "schedules.-s: an id is a text"),
    "an id that is too long": ({**APPS, "schedules": {"s" * 121: SOUND}}, "an id is a text of 1 to 120 characters"),
    "an empty id": ({**APPS, "schedules": {"": SOUND}}, "an id is a text"),
    # Options.
    "an unknown word": (timed(misfire_grce="1h"), "unknown option 'misfire_grce' (did you mean misfire_grace?)"),
    "no app": (timed(app=..., key=...), "schedules.s: it has no app"),
    "an unknown app": (timed(app="dayly"), "app: there is no app 'dayly' (did you mean daily?)"),
    "an app that is no name": (timed(app=["daily"]), "app: ['daily'] is not the name of an app"),
    "no rule": (timed(cron=...), "it has neither cron nor every"),
    "two rules": (timed(every="5m"), "cron and every contradict each other; write only one"),
    "cron that is no line": (timed(cron=5), "cron: 5 is not a cron expression"),
    "cron at a wrong hour": (timed(cron="0 25 * * *"), "cron: hour: 25 is not from 0 to 23"),
    "cron that never comes": (timed(cron="0 0 30 2 *"), "cron: '0 0 30 2 *' never fires"),
    "every nothing": (timed(cron=..., every=0), "every: 0 is not a whole number of seconds from 1 on"),
    "every less than a second": (timed(cron=..., every="250ms"), "every: '250ms' is not a whole number of seconds"),
    "every negative time": (timed(cron=..., every=-5), "every: -5 is not a duration"),
    "every odd thing": (timed(cron=..., every="soon"), "every: 'soon' is not a duration"),
    "every truth": (timed(cron=..., every=True), "every: True is not a duration"),
    "every twenty years": (timed(cron=..., every="7400d"), "every: '7400d' is more than ten years"),
    "a trigger in a document": (timed(cron=..., trigger="cron"), "trigger: 'cron' is no trigger: it has no get_next"),
    "a zone that is none": (timed(timezone="Europe/Berln"), "'Europe/Berln' (did you mean Europe/Berlin?)"),
    "a zone that is a folder": (timed(timezone="Europe"), "timezone: there is no time zone 'Europe'"),
    "a zone out of the way": (timed(timezone="../../etc/passwd"), "timezone: there is no time zone"),
    "a zone that is no text": (timed(timezone=[1]), "timezone: there is no time zone [1]"),
    "a grace that is none": (timed(misfire_grace="never"), "misfire_grace: 'never' is not a duration"),
    "catching up with nothing": (timed(catch_up=0), f"last, all or a number from 1 to {CATCH_UP_MAX}"),
    "catching up with a word": (timed(catch_up="first"), "catch_up: 'first' is none of none, last, all"),
    "catching up with truth": (timed(catch_up=True), "catch_up: True is none of"),
    "an overlap that is none": (timed(overlap="skp"), "overlap: 'skp' is none of skip, queue, replace"),
    "negative jitter": (timed(jitter=-1), "jitter: -1 is not a duration"),
    "jitter as long as every": (timed(cron=..., every="5m", jitter="5m"), "jitter: '5m' is not shorter than every"),
    # The request.
    "a key and keys": (timed(keys=["20260101"]), "set only one of key, keys, work_ids, or start and end"),
    "a start without an end": (timed(key=..., start="1"), "start and end must be set together"),
    "a range of an app without days": (
        timed(key=..., start="20260101", end="20260102") | {"daily": {"job_id": "{x}"}},
        "start and end: daily has keys like abc; start and end do not select a job",
    ),
    "days that are none": (timed(key=..., start="1", end="20260102"), "start and end: '1' is not a day; write 2014"),
    "days that end before they begin": (
        timed(key=..., start="{due:%Y-%m-%d}", end="{due-1d:%Y%m%d}"),
        "start and end: {due-1d:%Y%m%d} comes before {due:%Y-%m-%d}",
    ),
    "work IDs of an app with keys": (timed(key=..., work_ids=[1]), "work_ids: daily has keys like 20140601"),
    "a mode of an app with keys": (timed(mode="offline"), "mode: daily has keys like 20140601"),
    "a placeholder that is none": (timed(key="{date}"), "key: {date} is no placeholder; write {due:%Y%m%d}"),
    "a directive that is none": (timed(key="{due:%Q}"), "key: %Q in '%Q' is no part of a time"),
    "a brace alone": (timed(kwargs={"a": [{"b": "{"}]}), "kwargs: '{' is unpaired in '{'"),
    "kwargs that are no mapping": (timed(kwargs=[1]), "kwargs: [1] is not a mapping"),
    "a key that never fits": (timed(key="{due:%Y-%m}"), "key: '2026-01' is not a key of daily: at date"),
    "a key of another app": (timed(app="shops"), "write '{due:%Y%m%d}' so that the result is like 20140601_graz"),
    "one key of several": (timed(app="shops", key=..., keys=["{due:%Y%m%d}_rom"]), "'20260101_rom' is not a key"),
    "keys that are no list": (timed(key=..., keys="20260101"), "keys: '20260101' is not a list of texts"),
    "work IDs that are none": (timed(app="chunks", key=..., work_ids="3-1"), "work_ids: '3-1' ends before it begins"),
    "no partitions": (
        timed(app="days", key=...),
        "start and end: days is keyed by partition, and start and end select them, like {due-1d:%Y%m%d}",
    ),
    "partitions that are none": (
        timed(app="days", key=..., start="{due:%Y}", end="{due:%Y%m%d}"),
        "start and end: '2026' is no day; write it like 20240401",
    ),
    "partitions that end before they begin": (
        timed(app="days", key=..., start="{due:%Y%m%d}", end="{due-1d:%Y%m%d}"),
        "start and end: {due-1d:%Y%m%d} comes before {due:%Y%m%d}",
    ),
    "a key of no partitions": (timed(app="days", key="{due:%Y}..{due:%Y%m%d}"), "key: '2026' is no day"),
    "work IDs of partitions": (
        timed(app="days", key=..., work_ids=[1]),
        "work_ids: days is keyed by partition; work_ids does not select a job",
    ),
    "a range of an app with chunks": (timed(app="chunks", key=..., start="1", end="2"), "start and end: chunks is"),
    "a rerun that is none": (timed(rerun="jobs"), "rerun: 'jobs' is none of job, downstream (did you mean job?)"),
    "a push that is none": (timed(push="some"), "push: 'some' is none of all, wanted"),
    "a policy that only the app sets": (
        timed(policy={"env": {"A": "b"}}),
        "policy: env: only the app's definition may set it, unless the app lists it in submitters_may_set",
    ),
    "a policy that is too large": (
        timed(policy={"env": {"A": "x" * 9000}}) | {"daily": APPS["daily"] | {"submitters_may_set": ["env"]}},
        "policy: its policy has 9016 bytes; at most 8192 are accepted",
    ),
    "a policy that is none": (timed(policy={"max_fail": 1}), "policy: The policy cannot be used: unknown"),
    "a NUL in a text": (timed(kwargs={"a": "\0"}), "kwargs: '\\x00' has characters that the ledger cannot store"),
}  # fmt: skip
