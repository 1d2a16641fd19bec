"""Reading of an app's keys without its definition."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from sluice.jobs.keys.partitions import AFTER_SLICE
from sluice.jobs.model.app import App
from sluice.jobs.text.filters import Condition, needs_definitions


class KeyReading(Struct, frozen=True, kw_only=True):
    """Identifiers of a key in order, and their delimiter. ``has_rest``: another delimiter and more text follow.

    A value of an identifier in ``numbers`` is a number if it is written as a whole number. For a value that a
    function makes, its written form is all that is known.
    """

    job_type: str
    delimiter: str = "_"
    identifiers: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()
    has_rest: bool = False

    @classmethod
    def of(cls, app: App) -> "KeyReading":
        """Return how to read the keys of an app. Keys by chunk have no identifiers. Keys by partition have only the
        second dimension of the table, if it has one."""
        if app.partitioning and app.partitioning.by:
            dimension = app.partitioning.by.name
            return cls(job_type=app.job_type, delimiter=AFTER_SLICE, identifiers=(dimension,), has_rest=True)
        names = app.template.names if app.is_keyed_by_template else ()
        return cls(
            job_type=app.job_type,
            delimiter=app.template.delimiter,
            identifiers=names,
            numbers=frozenset(name for name in names if app.kind(name).underlying != "str"),
        )


#: By the name of the app.
KeyReadings: TypeAlias = Mapping[str, KeyReading]


def key_readings(apps: Mapping[str, App]) -> KeyReadings:
    return {name: KeyReading.of(app) for name, app in apps.items()}


def readings_for(
    where: Condition | None, definitions: Callable[[], Mapping[str, App]] | None
) -> KeyReadings | None:
    """Return the readings that a condition needs. None if it needs none, so that it works with faulty definitions, or
    if there are no definitions."""
    if where is None or definitions is None or not needs_definitions(where):
        return None
    return key_readings(definitions())
