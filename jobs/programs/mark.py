"""What tells, without reading a source again, whether it is still what it was."""

from pathlib import Path

from msgspec import Struct


class Mark(Struct, frozen=True, kw_only=True):
    """Of a web server its ``etag`` or the day it said ``modified``, for this ``url``; else a ``stamp``.

    A mark in which all is empty tells nothing, so the source is read again.
    """

    etag: str = ""
    modified: str = ""
    url: str = ""
    stamp: str = ""


class Fetched(Struct, frozen=True, kw_only=True):
    """A source as it came: the file, its sha256, and what to compare next time."""

    path: Path
    sha256: str
    mark: Mark
