"""Snapshot of the sources' present content, to detect changes."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from sluice.jobs.catalogue.sources.functions import is_users_own, module_name
from sluice.jobs.catalogue.sources.load import files_of
from sluice.jobs.catalogue.sources.remote import Fetch, Stored, Unread, is_address

#: By file or address; None for a file that cannot be read.
Snapshot: TypeAlias = dict[str, bytes | Stored | Unread | None]


def snapshot(sources: Sequence[str], fetch: Fetch) -> Snapshot:
    """Return the content of everything that a load of these sources would read again.

    Files are read in full, because two edits within one tick of the file system's clock have the same time.
    """
    taken: Snapshot = {str(file): _content(file) for source in sources for file in files_of(source)}
    return taken | {source: fetch(source) for source in sources if is_address(source)}


def imported(sources: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the time and size of each user module that a load would reuse as imported before, by its name."""
    run_anew = {module_name(file) for source in sources for file in files_of(source)}
    files = {
        name: str(getattr(module, "__dict__", {}).get("__file__"))
        for name, module in sys.modules.copy().items()
        if name not in run_anew
    }
    return {
        name: seen
        for name, file in files.items()
        if file.endswith(".py") and is_users_own(file) and (seen := _seen(file))
    }


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _seen(file: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(file)  # noqa: PTH116 - every other second for each module, and a Path costs ten times that
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
