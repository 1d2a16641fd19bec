"""Options of an app that is keyed by partition.

output_table       = text; default: the app's name
partition          = calendar, and in a mapping also first: the earliest possible partition
step_size          = a whole number from 1 on, the consecutive partitions of one job
table_dependencies = [{table: text, partition: calendar, cumulative: bool,
                       start_offset, end_offset: a number of the app's own partitions, or "12h",
                       offset: both of them together,
                       start_cutoff, end_cutoff: partition, the first and the last to read,
                       version: of the app that fills it, in a definition that was stored by itself} …]
modes              = {name: {option of a policy: value} …}

The calendar of a table is known only after all apps have been read (``lineage``). ``start_offset: null`` reads all
partitions. If ``start_offset`` is missing and ``start_cutoff`` is set, reading begins at the cut-off.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from sluice.jobs.calendar import Calendar
from sluice.jobs.catalogue.calendars import moments_of, read_calendar
from sluice.jobs.catalogue.concurrency import check_key
from sluice.jobs.catalogue.draft import Reading
from sluice.jobs.catalogue.faults import At, Words, read_fields, truth, unknown
from sluice.jobs.catalogue.lag import is_number
from sluice.jobs.catalogue.policy import POLICY_WORDS, read_policy
from sluice.jobs.durations import parse_duration_s
from sluice.jobs.json_value import as_json
from sluice.jobs.partitioning import Offset, Partitioning, TableDependency
from sluice.jobs.submission import JSON, SAGA

#: Placeholders of such an app's command, in addition to the placeholders of every job.
PLACEHOLDERS = ("start", "end", "partitions", "table", "version")
#: Longest offset in seconds: ten thousand years. A longer one means all partitions.
_BACK_S_MAX = 10_000 * 366 * 86_400

#: Names of modes.
MODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def read_partitioning(words: Mapping[str, object], name: str, at: At) -> Partitioning | None:
    """Return the partitioning of an app, or None if it has no such options.

    The tables it reads are not known yet. An invalid option adds a fault and is replaced by a default.
    """
    if not any(word in words for word in PARTITION_WORDS):
        return None
    within = at.inside("partition")
    said = words.get("partition", "day")
    calendar = read_calendar(said, within, besides=("first",))
    return Partitioning(
        **{"table": name, **read_fields(_WORDS, words, at.add)},
        calendar=calendar,
        first=_first(said, calendar, within),
        modes=dict(_modes(words["modes"], at.inside("modes"))) if "modes" in words else {},
    )


def read_readings(words: Mapping[str, object], own: Calendar, at: At) -> tuple[Reading, ...]:
    """Return the tables that the app reads, in the order written."""
    value, within = words.get("table_dependencies", ()), at.inside("table_dependencies")
    if not isinstance(value, list | tuple):
        within.add(f"{value!r} is not a list of mappings with table")
        return ()
    readings: list[Reading] = []
    for place, mapping in enumerate(value, start=1):
        if not isinstance(mapping, Mapping):
            within.add(f"it has to be a mapping with table; this is {mapping!r}")
        elif reading := _reading(mapping, place, own, within):
            readings.append(reading)
    return tuple(readings)


def _first(said: object, calendar: Calendar, at: At) -> int | None:
    if not isinstance(said, Mapping) or said.get("first") is None:
        return None
    try:
        begins_s, _ = moments_of(said["first"], (calendar,))
    except ValueError as error:
        at.add(f"first: {error}")
        return None
    return calendar.at(begins_s)


def _reading(mapping: Mapping[Any, object], place: int, own: Calendar, at: At) -> Reading | None:
    table = mapping.get("table")
    within = at.inside(table if isinstance(table, str) else f"number {place}")
    for word in mapping:
        if word not in _READING_WORDS:
            within.add(unknown(word, _READING_WORDS))
    if "table" not in mapping:
        within.add("it has no table, the name of the table that it reads")
    fields = read_fields(_PLAIN_WORDS, mapping, within.add)
    calendar = None
    if mapping.get("partition") is not None:
        calendar = read_calendar(mapping["partition"], within.inside("partition"))
    start, end = _offsets(mapping, own, within)
    if "table" not in fields:
        return None
    return Reading(
        dependency=TableDependency(start_offset=start, end_offset=end, **fields),
        calendar=calendar,
        start_cutoff=mapping.get("start_cutoff"),
        end_cutoff=mapping.get("end_cutoff"),
    )


def _offsets(mapping: Mapping[Any, object], own: Calendar, at: At) -> tuple[Offset | None, Offset]:
    given = read_fields(_OFFSET_WORDS, mapping, at.add)
    both = given.get("offset", None if mapping.get("start_cutoff") is not None else Offset())
    start = given.get("start_offset", both)
    if start and -start.before(0, own) > _BACK_S_MAX:
        start = None
    return start, given.get("end_offset", given.get("offset")) or Offset()


def _modes(value: object, at: At) -> Iterator[tuple[str, dict[str, JSON]]]:
    if not isinstance(value, Mapping):
        at.add(f"{value!r} is not a mapping of modes to policy options, such as {{'offline': {{}}}}")
        return
    for name, words in value.items():
        if not isinstance(name, str) or not MODE.fullmatch(name):
            at.add(f"{name!r} is no name; a mode's name is a letter, then letters, digits, '_', '.' or '-'")
        elif name == SAGA:
            at.add(f"{name} is no name of a mode: it is the option by which a failed submission is undone")
        elif not isinstance(words, Mapping):
            at.add(f"{name}: it has to be a mapping of policy options; this is {words!r}")
        else:
            yield name, _policy_of_mode(words, at.inside(name))


def _policy_of_mode(words: Mapping[Any, object], at: At) -> dict[str, JSON]:
    """Return the readable options in the form in which a submission would have them."""
    wrong = [unknown(word, POLICY_WORDS) for word in words if word not in POLICY_WORDS]
    fields = read_policy(words, wrong.append)
    if fields.get("on_failure") == "bisect":
        wrong.append("on_failure: bisect splits work IDs, and an app with partitions has none")
    if "debug" in words:
        wrong.append("debug: it makes steps fail, and only a saga has steps")
    check_key(fields.get("concurrency"), (), at)
    for fault in wrong:
        at.add(fault)
    return {} if wrong else dict(read_fields(_AS_SUBMITTED, words, at.add))


def _table(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable() or value != value.strip():
        raise ValueError(f"{value!r} is not the name of a table")
    return value


def _step(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is not a whole number from 1 on, the number of partitions per job")
    return value


def _offset(value: object) -> Offset | None:
    if value is None:
        return None
    if isinstance(value, str):
        if is_number(value):
            raise ValueError(f'{value!r} has no unit; write "12h", or a number of partitions without quotes')
        seconds = parse_duration_s(value)
        if not seconds.is_integer():
            raise ValueError(f"{value!r} is not a whole number of seconds")
        return Offset(seconds=int(seconds))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f'{value!r} is not a number of partitions from 0 on, nor a duration such as "12h"')
    return Offset(partitions=value)


def _submitted(value: object) -> JSON:
    return as_json(value.isoformat() if isinstance(value, date) else value)


#: By option: the field of ``Partitioning`` that it sets, and the function that reads its value.
_WORDS: Words = {"output_table": ("table", _table), "step_size": ("step_size", _step)}
#: By option: the field of ``TableDependency`` that it sets, and the function that reads its value.
_PLAIN_WORDS: Words = {
    "table": ("table", _table),
    "cumulative": ("cumulative", truth),
    "version": ("version", _table),
}
_OFFSET_WORDS: Words = {word: (word, _offset) for word in ("start_offset", "end_offset", "offset")}
_AS_SUBMITTED: Words = {word: (word, _submitted) for word in POLICY_WORDS}
_READING_WORDS = (*_PLAIN_WORDS, *_OFFSET_WORDS, "start_cutoff", "end_cutoff", "partition")
PARTITION_WORDS = (*_WORDS, "partition", "table_dependencies", "modes")
