"""Folder that is filled from an archive, using only checked names.

Invariants for every archive:

- Each member is created by itself and must be new.
- No link is ever followed. Every folder of a path is opened from its parent, without following links. Symbolic links
  are created last, when nothing else is written and their targets are known.
- Owners, times and special bits of an archive are ignored; modes become 755 or 644.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sluice.jobs.programs.archive.link_targets import Parts
from sluice.jobs.programs.archive.members import FOLDER_MODE, Members, shown
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.fetch.download import Patience, unstorable, write_all
from sluice.jobs.programs.source import Rules

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Tree(Members):
    """New folder. Each method creates one member, or raises Unfit. ``finish`` creates the links and is called last."""

    def __init__(self, path: Path, rules: Rules, patience: Patience) -> None:
        super().__init__(rules, patience)
        try:
            path.mkdir(mode=0o755)
            self._top = os.open(path, _FOLDER)
            os.fchmod(self._top, FOLDER_MODE)
        except OSError as error:
            raise unstorable(error) from None

    def close(self) -> None:
        os.close(self._top)

    def finish(self) -> None:
        super().finish()
        for parts, target in self._links.items():
            self._patience.check()
            with _Parent(self._top, parts) as (folder, name):
                os.symlink(target, name, dir_fd=folder)
        for parts, kind in self._kinds.items():
            if kind in {"folder", "implied"}:
                with _Parent(self._top, (*parts, ".")) as (folder, _):
                    os.fsync(folder)

    def is_executable(self, name: str) -> bool | None:
        """Return whether a file at the top is executable. None if no such file exists. A link to a file is also
        accepted.
        """
        try:
            status = os.stat(name, dir_fd=self._top)
        except OSError:
            return None
        return bool(status.st_mode & 0o100) if stat.S_ISREG(status.st_mode) else None

    def _folder(self, parts: Parts) -> None:
        """Create a folder. Its mode does not depend on the umask because it is compared later."""
        with _Parent(self._top, parts) as (folder, name):
            os.mkdir(name, FOLDER_MODE, dir_fd=folder)
            os.chmod(name, FOLDER_MODE, dir_fd=folder)

    def _file(self, parts: Parts, mode: int, chunks: Iterator[bytes]) -> None:
        with _Parent(self._top, parts) as (folder, name):
            descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folder)
            try:
                for chunk in chunks:
                    write_all(descriptor, chunk)
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _hardlink(self, parts: Parts, target: Parts) -> None:
        with _Parent(self._top, target) as (old, old_name), _Parent(self._top, parts) as (new, new_name):
            os.link(old_name, new_name, src_dir_fd=old, dst_dir_fd=new, follow_symlinks=False)


class _Parent:
    """Opened parent folder of a member, and the member's name in it. Errors of the disk become Unfit."""

    def __init__(self, top: int, parts: Parts) -> None:
        self._top = top
        self._parts = parts

    def __enter__(self) -> tuple[int, str]:
        self._folder = os.dup(self._top)
        try:
            for part in self._parts[:-1]:
                below = os.open(part, _FOLDER, dir_fd=self._folder)
                os.close(self._folder)
                self._folder = below
        except OSError as error:
            os.close(self._folder)
            raise unstorable(error) from None
        return self._folder, self._parts[-1]

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        os.close(self._folder)
        if isinstance(error, FileExistsError):
            raise Unfit(
                f"the member {shown(self._parts)} exists twice, differing only in case or accents"
            ) from None
        if isinstance(error, OSError):
            raise unstorable(error) from None
