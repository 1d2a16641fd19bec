"""Snapshot of the sources' present content, to detect changes."""

import os
import sys
from collections.abc import Collection, Sequence
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


_OWN = "sluice."


class ImportedModules:
    """User modules that a load of these sources would reuse as imported before, with the time and size of each file.

    A file is read when its module is found, and later by ``changed``. A check for new modules alone reads no file a
    second time, and does nothing while no module is imported. Sluice's own modules are not read, also if they are not
    among the installed packages: a worker has 400 of them, which takes it 2 ms.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self._sources = sources
        self._imported = 0
        self._seen: dict[str, tuple[int, int]] = {}
        self.changed()

    def find_new(self) -> None:
        """Read the files of modules that were imported since the last call."""
        if len(sys.modules) != self._imported:
            self._seen = self._read(known=self._seen) | self._seen

    def changed(self) -> list[str]:
        """Return the names of the modules with files that have changed since they were last read."""
        fresh = self._read()
        changed = [name for name, seen in fresh.items() if self._seen.get(name, seen) != seen]
        self._seen |= fresh
        return changed

    def _read(self, known: Collection[str] = ()) -> dict[str, tuple[int, int]]:
        run_again = {module_name(file) for source in self._sources for file in files_of(source)}
        modules = sys.modules.copy()
        self._imported = len(modules)
        files = {
            name: str(getattr(module, "__dict__", {}).get("__file__"))
            for name, module in modules.items()
            if name not in run_again and name not in known and not name.startswith(_OWN)
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
        stat = os.stat(file)  # noqa: PTH116 - every few seconds for each module, and a Path costs ten times that
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
