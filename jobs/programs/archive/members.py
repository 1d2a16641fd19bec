"""Checks of the members of an archive, before they are processed.

- A name is used once, and either for a file or for a folder.
- Links lead to a place inside the archive.
- Members and bytes are counted as they are read.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from sluice.jobs.programs.archive.link_targets import Parts, check_link
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.names import quoted
from sluice.jobs.programs.source import Rules

FOLDER_MODE: Final = 0o755


class Members:
    """Members of one archive. Each method adds one member, or raises Unfit. ``finish`` comes last and checks the links.

    Subclasses define ``_folder``, ``_file``, ``_hardlink`` and ``finish``.
    """

    def __init__(self, rules: Rules, patience: Patience) -> None:
        self._rules = rules
        self._patience = patience
        self._kinds: dict[Parts, Literal["file", "folder", "implied", "link"]] = {(): "implied"}
        self._sizes: dict[Parts, int] = {}
        self._links: dict[Parts, str] = {}
        self._bytes = 0

    def add_folder(self, parts: Parts) -> None:
        if not parts:
            return
        if self._kinds.get(parts) == "implied":
            self._kinds[parts] = "folder"
            return
        self._claim(parts, "folder")
        self._folder(parts)

    def add_file(self, parts: Parts, mode: int, chunks: Iterable[bytes]) -> None:
        """Add a file. Its mode becomes 755 if its owner may execute it, else 644."""
        self._claim(parts, "file")
        before = self._bytes
        self._file(parts, 0o755 if mode & 0o100 else 0o644, self._counted(chunks))
        self._sizes[parts] = self._bytes - before

    def add_symlink(self, parts: Parts, target: bytes) -> None:
        self._claim(parts, "link")
        try:
            self._links[parts] = target.decode()
        except UnicodeDecodeError:
            raise Unfit(f"the link {shown(parts)} leads to no usable name") from None

    def add_hardlink(self, parts: Parts, target: Parts) -> None:
        """Add another name of an earlier file. It counts as a copy because the tree itself is copied."""
        size = self._sizes.get(target)
        if size is None:
            raise Unfit(f"the link {shown(parts)} leads to {shown(target)}, which is no file before it")
        self._claim(parts, "file")
        self.count(size)
        self._hardlink(parts, target)
        self._sizes[parts] = size

    def finish(self) -> None:
        for parts, target in self._links.items():
            self._patience.check()
            check_link(parts, target, self._links)

    def count(self, size: int) -> None:
        """Count more bytes. Unfit if the sum exceeds the limit."""
        self._patience.check()
        self._bytes += size
        if self._bytes > self._rules.unpacked_bytes_max:
            raise Unfit(
                f"it unpacks to more than the {self._rules.unpacked_bytes_max} bytes that are allowed"
            )

    def _folder(self, parts: Parts) -> None:
        raise NotImplementedError

    def _file(self, parts: Parts, mode: int, chunks: Iterator[bytes]) -> None:
        raise NotImplementedError

    def _hardlink(self, parts: Parts, target: Parts) -> None:
        raise NotImplementedError

    def _counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.count(len(chunk))
            yield chunk

    def _claim(self, parts: Parts, kind: Literal["file", "folder", "link"]) -> None:
        """Register a new member. Unfit if its name is used or a parent is not a folder. Missing parent folders are
        added.
        """
        self._patience.check()
        if not parts:
            raise Unfit("a member has no name")
        for depth in range(1, len(parts)):
            above = self._kinds.get(parts[:depth])
            if above is None:
                self._register(parts[:depth], "implied")
                self._folder(parts[:depth])
            elif above not in {"folder", "implied"}:
                raise Unfit(f"the member {shown(parts)} is in {shown(parts[:depth])}, which is no folder")
        if parts in self._kinds:
            raise Unfit(f"the member {shown(parts)} exists twice")
        self._register(parts, kind)

    def _register(self, parts: Parts, kind: Literal["file", "folder", "implied", "link"]) -> None:
        self._kinds[parts] = kind
        if len(self._kinds) - 1 > self._rules.files_max:
            raise Unfit(f"it has more than the {self._rules.files_max} files and folders that are allowed")


def shown(parts: Parts) -> str:
    return quoted("/".join(parts))
