"""A folder that is filled from an archive, by nothing but names that were checked.

What holds, whatever the archive says:

- Each member is made by itself and must be new: a name is used once, and is a file or a folder for good.
- No link is ever followed. Every folder of a path is opened from the one above it, without following links,
  and symbolic links are made last of all, when nothing is written any more and it is known where each leads.
- Owners, times and special bits of an archive are not taken over; modes become 755 or 644.
- What is written is counted as it is written.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from jobs.programs.links import Parts, check_link
from jobs.programs.names import quoted
from jobs.programs.patience import Patience
from jobs.programs.rules import Rules
from jobs.programs.spool import unstorable, write_all
from jobs.programs.unfit import Unfit

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Tree:
    """A new folder. Each method makes one member, or raises Unfit; ``finish`` makes the links and is called last."""

    def __init__(self, path: Path, rules: Rules, patience: Patience) -> None:
        self._rules = rules
        self._patience = patience
        self._kinds: dict[Parts, Literal["file", "folder", "implied", "link"]] = {(): "implied"}
        self._sizes: dict[Parts, int] = {}
        self._links: dict[Parts, str] = {}
        self._written = 0
        try:
            path.mkdir(mode=0o755)
            self._top = os.open(path, _FOLDER)
        except OSError as error:
            raise unstorable(error) from None

    def close(self) -> None:
        os.close(self._top)

    def add_folder(self, parts: Parts) -> None:
        if not parts:
            return
        if self._kinds.get(parts) == "implied":
            self._kinds[parts] = "folder"
            return
        self._claim(parts, "folder")
        self._make_folder(parts)

    def add_file(self, parts: Parts, mode: int, chunks: Iterable[bytes]) -> None:
        self._claim(parts, "file")
        before = self._written
        with _Parent(self._top, parts) as (folder, name):
            descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folder)
            try:
                for chunk in chunks:
                    self._count(len(chunk))
                    write_all(descriptor, chunk)
                os.fchmod(descriptor, 0o755 if mode & 0o100 else 0o644)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self._sizes[parts] = self._written - before

    def add_symlink(self, parts: Parts, target: bytes) -> None:
        self._claim(parts, "link")
        try:
            self._links[parts] = target.decode()
        except UnicodeDecodeError:
            raise Unfit(f"the link {_shown(parts)} leads to no usable name") from None

    def add_hardlink(self, parts: Parts, target: Parts) -> None:
        """Another name of an earlier file. It counts as a copy, since copies are made of the tree."""
        size = self._sizes.get(target)
        if size is None:
            raise Unfit(f"the link {_shown(parts)} leads to {_shown(target)}, which is no file before it")
        self._claim(parts, "file")
        self._count(size)
        with _Parent(self._top, target) as (old, old_name), _Parent(self._top, parts) as (new, new_name):
            os.link(old_name, new_name, src_dir_fd=old, dst_dir_fd=new, follow_symlinks=False)
        self._sizes[parts] = size

    def finish(self) -> None:
        for parts, target in self._links.items():
            self._patience.check()
            check_link(parts, target, self._links)
        for parts, target in self._links.items():
            self._patience.check()
            with _Parent(self._top, parts) as (folder, name):
                os.symlink(target, name, dir_fd=folder)
        for parts, kind in self._kinds.items():
            if kind in {"folder", "implied"}:
                with _Parent(self._top, (*parts, ".")) as (folder, _):
                    os.fsync(folder)

    def is_executable(self, name: str) -> bool | None:
        """Of a file at the top; None where there is no such file. A link to one serves as well."""
        try:
            status = os.stat(name, dir_fd=self._top)
        except OSError:
            return None
        return bool(status.st_mode & 0o100) if stat.S_ISREG(status.st_mode) else None

    def _claim(self, parts: Parts, kind: Literal["file", "folder", "link"]) -> None:
        """The name is new, and all above it are folders, which are made where they are missing."""
        self._patience.check()
        if not parts:
            raise Unfit("a member has no name")
        for depth in range(1, len(parts)):
            above = self._kinds.get(parts[:depth])
            if above is None:
                self._register(parts[:depth], "implied")
                self._make_folder(parts[:depth])
            elif above not in {"folder", "implied"}:
                raise Unfit(f"the member {_shown(parts)} lies in {_shown(parts[:depth])}, which is no folder")
        if parts in self._kinds:
            raise Unfit(f"the member {_shown(parts)} is there twice")
        self._register(parts, kind)

    def _register(self, parts: Parts, kind: Literal["file", "folder", "implied", "link"]) -> None:
        self._kinds[parts] = kind
        if len(self._kinds) - 1 > self._rules.files_max:
            raise Unfit(f"it has more than the {self._rules.files_max} files and folders that are allowed")

    def _make_folder(self, parts: Parts) -> None:
        with _Parent(self._top, parts) as (folder, name):
            os.mkdir(name, 0o755, dir_fd=folder)

    def _count(self, size: int) -> None:
        self._patience.check()
        self._written += size
        if self._written > self._rules.unpacked_bytes_max:
            raise Unfit(
                f"it unpacks to more than the {self._rules.unpacked_bytes_max} bytes that are allowed"
            )


class _Parent:
    """The opened folder of a member, and the member's name in it. What the disk refuses becomes Unfit."""

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
            raise Unfit(f"the member {_shown(self._parts)} is there twice, but for case or accents") from None
        if isinstance(error, OSError):
            raise unstorable(error) from None


def _shown(parts: Parts) -> str:
    return quoted("/".join(parts))
