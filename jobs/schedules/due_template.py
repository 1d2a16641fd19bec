"""Texts with placeholders for a due time: ``{due:%Y%m%d}``, ``{due-1d:%H}``, or ``{due}`` alone, in ISO 8601.

``+`` and ``-`` shift the time. Days and weeks are calendar units: one day earlier is the same wall time on the day
before, also if the clocks change in between. Hours and shorter units are physical time. ``{{`` and ``}}`` are braces.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from sluice.jobs.model.submission import JSON
from sluice.jobs.schedules.cron import instant_of

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PLACEHOLDER = re.compile(r"due((?:[+-]\d{1,6}[smhdw])*)(?::(.+))?", re.DOTALL)
_SHIFT = re.compile(r"([+-]\d+)([smhdw])")
_CALENDAR = {"d": timedelta(days=1), "w": timedelta(weeks=1)}
_PHYSICAL = {"s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1)}

_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
#: Directives of ``strftime`` that exist on every system.
_DIRECTIVES = frozenset("aAwdbBmyYHIMSfzZjpUWcxXGuV%")


def fill(value: JSON, due: datetime) -> JSON:
    """Return the value with the due time inserted into all of its texts. ``due`` must be in the zone to write.

    Raises ValueError if a text is wrong.
    """
    match value:
        case str():
            return _BRACES.sub(lambda found: _put(found, due), value)
        case list() | tuple():
            return [fill(inner, due) for inner in value]
        case Mapping():
            return {name: fill(inner, due) for name, inner in value.items()}
    return value


def speaks_of_due(value: JSON) -> bool:
    """Return whether any of the texts contains a placeholder, so that it differs between due times."""
    match value:
        case str():
            return any(found[1] is not None for found in _BRACES.finditer(value))
        case list() | tuple():
            return any(map(speaks_of_due, value))
        case Mapping():
            return any(map(speaks_of_due, value.values()))
    return False


def _put(found: re.Match[str], due: datetime) -> str:
    if found[0] in ("{{", "}}"):
        return found[0][0]
    if found[1] is None:
        raise ValueError(f"{found[0]!r} is unpaired in {found.string!r}; write {found[0] * 2} for a brace")
    placeholder = _PLACEHOLDER.fullmatch(found[1])
    if placeholder is None:
        raise ValueError(
            f"{found[0]} is no placeholder; write {{due:%Y%m%d}}, {{due-1d:%Y%m%d}} or {{due}},"
            " and {{ and }} for braces"
        )
    return _written(_moved(due, placeholder[1]), placeholder[2])


def _moved(due: datetime, shifts: str) -> datetime:
    zone = due.tzinfo or UTC
    for amount, unit in _SHIFT.findall(shifts):
        if unit in _CALENDAR:
            wall = due.replace(tzinfo=None) + int(amount) * _CALENDAR[unit]
            due = instant_of(wall, zone).astimezone(zone)
        else:
            due = (due.astimezone(UTC) + int(amount) * _PHYSICAL[unit]).astimezone(zone)
    return due


def _written(due: datetime, form: str | None) -> str:
    if form is None:
        return due.isoformat()
    for directive in _DIRECTIVE.findall(form):
        if directive not in _DIRECTIVES:
            raise ValueError(f"%{directive} in {form!r} is no part of a time; %Y, %m, %d, %H and %M are")
    return due.strftime(form)
