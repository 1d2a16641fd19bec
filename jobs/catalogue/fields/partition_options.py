"""Options of apps that are keyed by partition, of calendars, and of single partitions.

output_table       = text; default: the app's name
partition          = calendar, and in a mapping also first: the earliest possible partition, and by: the second
                     dimension (``slice_options``)
step_size          = a whole number from 1 on, the consecutive partitions of one job
table_dependencies = [{table: text, cumulative: bool,
                       partition: calendar, and in a mapping also first and by, of a table that no app fills,
                       by: all, to read every slice of a table with a second dimension,
                       start_offset, end_offset: a number of the app's own partitions, or "12h",
                       offset: both of them together,
                       start_cutoff, end_cutoff: partition, the first and the last to read,
                       version: of the app that fills it, in a definition that was stored by itself} …]
modes              = {name: {option of a policy: value} …}
calendar           = a unit of ``UNITS``, or {unit: a unit of ``UNITS``, format: as for strftime}

An app that is keyed by template may have ``output_table`` and ``table_dependencies`` (``DAILY_WORDS``), if it has no
other of these options. Then all of its jobs of one day make that day's partition of the table.

The calendar of a table is known only after all apps have been read (``jobs.catalogue.resolve.tables``).
``start_offset: null`` reads all partitions. If no start offset is given and ``start_cutoff`` is set, reading begins at
the cut-off.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from sluice.jobs.catalogue.errors import At, Words, one_of, read_fields, truth, unknown
from sluice.jobs.catalogue.fields.draft import Reading
from sluice.jobs.catalogue.fields.policy_options import POLICY_WORDS, check_keys, is_number, read_policy
from sluice.jobs.catalogue.fields.slice_options import read_dimension
from sluice.jobs.keys.calendar import FORMATS, UNITS, Calendar
from sluice.jobs.keys.partitions import OF_SLICE, Offset, Partitioning, TableDependency
from sluice.jobs.model.submission import JSON, SAGA
from sluice.jobs.text.json_value import as_json
from sluice.jobs.text.units import parse_duration_s

#: Placeholders of the command of an app keyed by partition, in addition to the placeholders of every job.
PLACEHOLDERS = ("start", "end", "partitions", "table", "version")
#: Longest offset in seconds: ten thousand years. A longer one means all partitions.
_BACK_S_MAX = 10_000 * 366 * 86_400

#: Options of ``partition`` that are not of its calendar.
_BESIDE_CALENDAR = ("first", "by")

#: Names of modes.
MODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def read_partitioning(words: Mapping[str, object], name: str, at: At) -> Partitioning | None:
    """Return the partitioning of an app, or None if it has none of ``PARTITION_WORDS``.

    The tables it reads are not known yet. An invalid option adds a fault and is replaced by a default.
    """
    if not any(word in words for word in PARTITION_WORDS):
        return None
    within = at.inside("partition")
    said = words.get("partition", "day")
    calendar = read_calendar(said, within, elsewhere=_BESIDE_CALENDAR)
    return Partitioning(
        **{"table": name, **read_fields(_PARTITION_OPTIONS, words, at.add)},
        calendar=calendar,
        first=_first(said, calendar, within),
        by=read_dimension(said, within),
        modes=dict(_modes(words["modes"], at.inside("modes"))) if "modes" in words else {},
    )


def read_days(words: Mapping[str, object], name: str, at: At) -> Partitioning:
    """Return the table of which an app that is keyed by template makes the days. The tables it reads are not known
    yet."""
    return Partitioning(
        **{"table": name, **read_fields(_PARTITION_OPTIONS, words, at.add)}, calendar=Calendar()
    )


def read_readings(words: Mapping[str, object], filling: Partitioning | None, at: At) -> tuple[Reading, ...]:
    """Return the tables that the app reads, in the order written. None without a table of its own."""
    if filling is None:
        return ()
    value, within = words.get("table_dependencies", ()), at.inside("table_dependencies")
    if not isinstance(value, list | tuple):
        within.add(f"{value!r} is not a list of mappings with table")
        return ()
    readings: list[Reading] = []
    for place, mapping in enumerate(value, start=1):
        if not isinstance(mapping, Mapping):
            within.add(f"it has to be a mapping with table; this is {mapping!r}")
        elif reading := _reading(mapping, place, filling.calendar, within):
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
    calendar, first = None, None
    if (partition := mapping.get("partition")) is not None:
        first = partition.get("first") if isinstance(partition, Mapping) else None
        if (
            not isinstance(partition, Mapping)
            or not partition
            or any(each not in _BESIDE_CALENDAR for each in partition)
        ):
            calendar = read_calendar(partition, within.inside("partition"), elsewhere=_BESIDE_CALENDAR)
    start, end = _offsets(mapping, own, within)
    if "table" not in fields:
        return None
    return Reading(
        dependency=TableDependency(start_offset=start, end_offset=end, **fields),
        calendar=calendar,
        start_cutoff=mapping.get("start_cutoff"),
        end_cutoff=mapping.get("end_cutoff"),
        first=first,
        by=read_dimension(partition, within.inside("partition")),
    )


def _offsets(mapping: Mapping[Any, object], own: Calendar, at: At) -> tuple[Offset | None, Offset]:
    given = read_fields(_OFFSET_WORDS, mapping, at.add)
    both = given.get("offset", None if mapping.get("start_cutoff") is not None else Offset())
    start = given.get("start_offset", both)
    if start and start.length_s(0, own) > _BACK_S_MAX:
        start = None
    return start, given.get("end_offset", given.get("offset")) or Offset()


def _modes(value: object, at: At) -> Iterator[tuple[str, dict[str, JSON]]]:
    if not isinstance(value, Mapping):
        at.add(f"{value!r} is not a mapping of modes to policy options like {{'offline': {{}}}}")
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
    check_keys({"concurrency": fields.get("concurrency")}, (), at)
    for fault in wrong:
        at.add(fault)
    return {} if wrong else dict(read_fields(_AS_SUBMITTED, words, at.add))


def read_table_name(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable() or value != value.strip():
        raise ValueError(f"{value!r} is not the name of a table")
    if OF_SLICE.search(value):
        raise ValueError(f"{value!r} is the name of a slice of a table; name the table")
    return value


def _all(value: object) -> bool:
    one_of(value, ("all",))
    return True


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
        raise ValueError(f'{value!r} is not a number of partitions from 0 on, nor a duration like "12h"')
    return Offset(partitions=value)


def _submitted(value: object) -> JSON:
    return as_json(value.isoformat() if isinstance(value, date) else value)


#: By option: the field of ``Partitioning`` that it sets, and the function that reads its value.
_PARTITION_OPTIONS: Words = {"output_table": ("table", read_table_name), "step_size": ("step_size", _step)}
#: By option: the field of ``TableDependency`` that it sets, and the function that reads its value.
_PLAIN_WORDS: Words = {
    "table": ("table", read_table_name),
    "cumulative": ("cumulative", truth),
    "version": ("version", read_table_name),
    "by": ("all_slices", _all),
}
_OFFSET_WORDS: Words = {word: (word, _offset) for word in ("start_offset", "end_offset", "offset")}
_AS_SUBMITTED: Words = {word: (word, _submitted) for word in POLICY_WORDS}
_READING_WORDS = (*_PLAIN_WORDS, *_OFFSET_WORDS, "start_cutoff", "end_cutoff", "partition")
PARTITION_WORDS = (*_PARTITION_OPTIONS, "partition", "table_dependencies", "modes")
#: Options that an app that is keyed by template may have, too.
DAILY_WORDS = ("output_table", "table_dependencies")


#: Moments on which formats are tried. Together they reveal every mistake: a year of two digits, a clock of twelve
#: hours, a month in place of its days, the calendar's year in place of a week's.
_SAMPLES = (
    datetime(1999, 12, 31, 23, tzinfo=UTC),
    datetime(2023, 1, 1, 0, tzinfo=UTC),
    datetime(2024, 2, 29, 13, tzinfo=UTC),
    datetime(2100, 3, 10, 12, tzinfo=UTC),
    datetime(2018, 12, 31, 0, tzinfo=UTC),
)
#: Characters that keys have after partitions, addresses between keys, and lists between their items.
_MARKS = ("@", "/", ",", "+")


def read_calendar(value: object, at: At, elsewhere: Sequence[str] = ()) -> Calendar:
    """Return the calendar. An invalid option adds a fault and is replaced by a default.

    The options in ``elsewhere`` are read elsewhere.
    """
    words = {"unit": value} if isinstance(value, str) else value
    if not isinstance(words, Mapping):
        at.add(f"{value!r} is none of {', '.join(UNITS)}, nor a mapping with unit and format")
        return Calendar()
    for word in words:
        if word not in (*_CALENDAR_OPTIONS, *elsewhere):
            at.add(unknown(word, (*_CALENDAR_OPTIONS, *elsewhere)))
    fields = read_fields(_CALENDAR_OPTIONS, words, at.add)
    plain = Calendar(fields.get("unit", "day"))
    written = fields.get("format", plain.pattern)
    if written == plain.pattern or ("unit" in words and "unit" not in fields):
        return plain
    calendar = Calendar(plain.unit, written)
    try:
        _check_format(calendar)
    except ValueError as error:
        at.add(f"format: {error}")
        return plain
    return calendar


def moments_of(value: object, calendars: Sequence[Calendar]) -> tuple[int, int]:
    """Return the moments at which a partition begins and ends.

    The first of the calendars that can read the text is used, or else the default format of any unit. Raises
    ValueError if none fits. YAML and TOML deliver dates and times as objects.
    """
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return _ends(calendars[0], calendars[0].at(int(moment.timestamp())))
    if isinstance(value, date):
        value = value.isoformat()
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(text, str):
        for calendar in (*calendars, *map(Calendar, UNITS)):
            try:
                return _ends(calendar, calendar.read(text))
            except ValueError:
                continue
        if (day := _day(text)) is not None:
            return _ends(Calendar("day"), day)
    raise ValueError(f"{value!r} is no partition; write it like {calendars[0].example}")


def told(calendar: Calendar) -> str:
    """Return a description for people, for example ``by day, like 2024-04-01``."""
    return f"by {calendar.unit}, like {calendar.example}"


def _ends(calendar: Calendar, partition: int) -> tuple[int, int]:
    return calendar.start_s(partition), calendar.start_s(partition + 1)


def _day(text: str) -> int | None:
    try:
        return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None


def _check_format(calendar: Calendar) -> None:
    """Raise ValueError if two partitions have the same text, or if a key cannot contain the text."""
    for sample in _SAMPLES:
        partition = calendar.at(int(sample.timestamp()))
        text = calendar.write(partition)
        # Two dots separate the ends of a range, so a dot at an end would be read as a part of them.
        if not text.isprintable() or " " in text or ".." in f".{text}." or any(map(text.count, _MARKS)):
            raise ValueError(
                f"{calendar.format!r} writes {text!r}; a partition may have neither blanks nor"
                f" {' '.join(_MARKS)} in it, nor two dots, nor a dot at an end"
            )
        try:
            found = calendar.read(text)
        except (ValueError, re.error):
            raise ValueError(f"{calendar.format!r} writes {text!r}, which cannot be read again") from None
        if found != partition:
            raise ValueError(
                f"{calendar.format!r} writes {text!r} for more than one {calendar.unit};"
                f" the default is {FORMATS[calendar.unit]}"
            )


def _unit(value: object) -> str:
    return one_of(value, UNITS)


def _format(value: object) -> str:
    if not isinstance(value, str) or "%" not in value or "\0" in value:
        raise ValueError(f"{value!r} is not a text with parts like %Y, as for strftime")
    return value


_CALENDAR_OPTIONS: Words = {"unit": ("unit", _unit), "format": ("format", _format)}
