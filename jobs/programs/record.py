"""State of a source at its last check."""

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sluice.jobs.programs.mark import Mark

_NAME: Final = "record"


class Record(Struct, frozen=True, kw_only=True):
    """State of a source. ``version`` names the folder of its version.

    Times are in seconds of this machine's clock: ``fetched_at`` is the start of the check that found this version,
    ``looked_at`` is the start of the last check.
    """

    version: str
    mark: Mark
    fetched_at: float
    looked_at: float


def read_record(folder: Path) -> Record | None:
    """Return the record. None if no readable record exists; then the source counts as new."""
    try:
        return msgspec.json.decode((folder / _NAME).read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError):
        return None


def write_record(folder: Path, record: Record) -> None:
    """Replace the record atomically, so that it may be read without the lock. The folder then counts as used."""
    new = folder / f"{_NAME}.new"
    new.write_bytes(msgspec.json.encode(record))
    new.replace(folder / _NAME)
