"""How the keys of an app's jobs are read by whoever has not its definition."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from sluice.jobs.app import App


class KeyReading(Struct, frozen=True, kw_only=True):
    """The identifiers in their order, and what stands between them. Of those in ``numbers`` a value that is written
    like a whole number is one: what a function makes of a text is known by how it is written alone."""

    job_type: str
    delimiter: str = "_"
    identifiers: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, app: App) -> "KeyReading":
        """Keys by chunk and by partition have no identifiers."""
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
