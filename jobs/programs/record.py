"""What a source was when it was looked at last."""

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sluice.jobs.programs.mark import Mark

_NAME: Final = "record"


class Record(Struct, frozen=True, kw_only=True):
    """``version`` names the folder of the version; the times are seconds of this machine's clock, at which
    the look began that found it, and the last one."""

    version: str
    mark: Mark
    fetched_at: float
    looked_at: float


def read_record(folder: Path) -> Record | None:
    """None where there is none that can be read: then the source is as good as new."""
    try:
        return msgspec.json.decode((folder / _NAME).read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError):
        return None


def write_record(folder: Path, record: Record) -> None:
    """It replaces the earlier one at once, so it may be read without the lock. The folder counts as used."""
    new = folder / f"{_NAME}.new"
    new.write_bytes(msgspec.json.encode(record))
    new.replace(folder / _NAME)
