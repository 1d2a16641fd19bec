"""Marks that show whether a source has changed, without fetching it again."""

from pathlib import Path

from msgspec import Struct


class Mark(Struct, frozen=True, kw_only=True):
    """Mark of a source. A web server gives an ``etag`` or a ``modified`` date, valid for ``url``; other sources a
    ``stamp``.

    An empty mark proves nothing, so the source is fetched again.
    """

    etag: str = ""
    modified: str = ""
    url: str = ""
    stamp: str = ""


class Fetched(Struct, frozen=True, kw_only=True):
    """Fetched source: the file, its sha256, and the mark to compare next time."""

    path: Path
    sha256: str
    mark: Mark
