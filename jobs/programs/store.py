"""Store of programs on one machine, and the private copy of a version for each run."""

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.processes.file_lock import FileLock
from sluice.jobs.programs.archive.unpack import survey, unpack
from sluice.jobs.programs.content_digest import Contents, file_sha256, folder_has
from sluice.jobs.programs.errors import Away, FetchStopped, Unfit, one_line, reason_of
from sluice.jobs.programs.fetch.download import Patience, StopSignal
from sluice.jobs.programs.fetch.http_fetch import fetch_from_web
from sluice.jobs.programs.fetch.local_file import fetch_from_disk
from sluice.jobs.programs.fetch.rsync import fetch_by_rsync, run_watched
from sluice.jobs.programs.names import check_program_name, quoted
from sluice.jobs.programs.program_cache import (
    FETCHED,
    MEMBER_BYTES,
    PROGRAM,
    Fetched,
    Shelves,
    SourceMark,
    SourceRecord,
    abandoned,
    locked_folder,
    read_record,
    remove,
    shared,
    sole,
    write_record,
)
from sluice.jobs.programs.source import Form, Rules, Source, parse_source

Say = Callable[[str], None]

#: Seconds between two sweeps. Leftovers are also removed at the first use and after each fetch.
SWEEP_S: Final = 600.0
#: Errors that fail a comparison but prove nothing about the files.
_SHORTAGES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Order(Struct, frozen=True, kw_only=True):
    """Requested program."""

    program: str
    source: Source
    sha256: str | None

    def __str__(self) -> str:
        return f"program '{self.program}' from {self.source.shown}"

    @property
    def pinned(self) -> str | None:
        """The version, if it is known without a check of the source."""
        return None if self.sha256 is None else f"{self.sha256}.{self.source.form}"


class ProgramStore:
    """Programs by the digest of their fetched file. All threads and processes that use the same folder share them."""

    def __init__(self, folder: Path, rules: Rules | None = None) -> None:
        self._shelves = Shelves(folder)
        self._rules = rules or Rules()
        self._swept_at: float | None = None
        self._contents: dict[str, Contents] = {}

    @contextmanager
    def program(
        self, program: str, source: str, sha256: str | None = None, *, stop: StopSignal, say: Say
    ) -> Iterator[Path]:
        """Yield a private copy of the program, in a folder that has the program's name and is removed at the end.

        The copy contains an executable ``run.sh`` and may be written to. Raises Unfit, and Stopped if ``stop`` is set
        before it is ready. ``say`` receives a line for each notable event.
        """
        order = _Order(
            program=check_program_name(program), source=parse_source(source), sha256=_check_sha256(sha256)
        )
        with self._shelved(order):
            self._shelves.prepare()
            self._sweep_now_and_then()
            run = locked_folder(self._shelves.runs)
        with closing(run):
            try:
                folder = run.path / order.program
                with self._shelved(order):
                    self._fill(folder, order, stop, say, lock=run.fd)
                yield folder
            finally:
                remove(run.path)

    def _fill(self, folder: Path, order: _Order, stop: StopSignal, say: Say, *, lock: int) -> None:
        patience, changed = Patience(stop, self._rules.fetch_timeout_s), False
        while True:
            version = self._shelves.versions / self._version(order, stop, say, changed=changed)
            with shared(version) as kept:
                if kept:
                    copying = Patience(stop, self._rules.fetch_timeout_s)
                    if self._is_unchanged(version, order, copying):
                        os.utime(version)
                        copy_version(version / PROGRAM, folder, copying, lock=lock)
                        return
            if kept:
                if changed:
                    raise Unfit(f"the stored copy of {order} was changed again as soon as it was fetched")
                changed = True
                say(
                    f"the stored copy of program '{order.program}' was changed; it is removed and fetched again"
                )
                self._discard(version, order, patience)
            else:
                patience.pause()  # Another process is removing it: unused for a day, or to make room.

    def _is_unchanged(self, version: Path, order: _Order, patience: Patience) -> bool:
        """Return whether the stored copy still has the contents of the archive that its digest names.

        Jobs outside of bubblewrap can write to the store. So the contents to compare with are in this process's memory.
        They are read from the archive, after its sha256 has been compared with the version's name.
        """
        try:
            expected = self._contents.get(version.name)
            if expected is None:
                sha256, _, form = version.name.partition(".")
                if file_sha256(version / FETCHED, patience) != sha256:
                    return False
                expected = self._survey(version / FETCHED, cast(Form, form), order, patience)
                self._contents[version.name] = expected
            return folder_has(version / PROGRAM, expected, patience)
        except OSError as error:  # A member is missing, unreadable, or of another kind.
            if error.errno in _SHORTAGES:
                raise
            return False

    def _discard(self, version: Path, order: _Order, patience: Patience) -> None:
        """Remove the changed version when no run holds it, unless another process has replaced it already."""
        while version.exists():
            with abandoned(version) as free:
                if free:
                    if not self._is_unchanged(version, order, patience):
                        self._shelves.retire(version)
                    return
            patience.pause()

    def _version(self, order: _Order, stop: StopSignal, say: Say, *, changed: bool) -> str:
        """Return the version to run, which is in the store. If its copy was ``changed``, Unfit also mentions the
        removal.
        """
        try:
            return self._present(order, stop, say)
        except FetchStopped:
            raise
        except Unfit as error:
            if not changed:
                raise
            raise Unfit(f"the stored copy was changed, and is removed; {error.what}") from None

    def _present(self, order: _Order, stop: StopSignal, say: Say) -> str:
        """Return the present version of the source. If the source is away and no ``sha256`` is given, return the last
        version fetched from it.
        """
        if order.pinned is not None and self._has(order.pinned):
            return order.pinned
        try:
            return self._look(order, Patience(stop, self._rules.fetch_timeout_s), say)
        except Away as error:
            record = read_record(self._shelves.of_source(order.source))
            if order.sha256 is not None or record is None or not self._has(record.version):
                raise Unfit(f"could not fetch {order}: {error.what}") from None
            day = datetime.fromtimestamp(record.fetched_at, UTC).isoformat(sep=" ", timespec="seconds")
            say(f"could not fetch {order}: {error.what}; using the copy fetched at {day}")
            return record.version

    def _look(self, order: _Order, patience: Patience, say: Say) -> str:
        """Check the source, alone among all users of the store, and return its present version.

        A caller that waited needs no check of its own if one began after its request. A check that was already running
        at that time may have seen the older state.
        """
        asked_at = time.time()
        folder = self._shelves.of_source(order.source)
        with sole(
            folder, patience, lambda: say(f"waiting for another run that fetches program '{order.program}'")
        ):
            if order.pinned is not None and self._has(order.pinned):
                return order.pinned
            record = read_record(folder)
            if order.sha256 is not None or record is None or not self._has(record.version):
                record = None
            elif asked_at <= record.looked_at <= time.time():
                return record.version
            else:
                os.utime(folder)
            return self._fetch(order, folder, record, patience, say)

    def _fetch(
        self, order: _Order, folder: Path, record: SourceRecord | None, patience: Patience, say: Say
    ) -> str:
        if record is None:
            say(f"attempting to fetch {order}")
        with closing(locked_folder(self._shelves.aside)) as aside:
            looked_at = time.time()
            try:
                fetched = self._fetched(order, aside, None if record is None else record.mark, patience)
                if fetched is None and record is not None:
                    write_record(folder, replace(record, looked_at=looked_at))
                    return record.version
                if fetched is None:
                    raise Unfit(
                        f"could not fetch {order}: the server reports no change, but no copy is stored here"
                    )
                reached(Failpoint.PROGRAM_FETCHED)
                version = self._install(order, fetched, aside, patience)
            finally:
                remove(aside.path)
        write_record(
            folder,
            SourceRecord(version=version, mark=fetched.mark, fetched_at=looked_at, looked_at=looked_at),
        )
        if record is None or record.version != version:
            say(f"fetched program '{order.program}' (sha256 {fetched.sha256})")
        self._swept_at = None
        return version

    def _fetched(
        self, order: _Order, aside: FileLock, known: SourceMark | None, patience: Patience
    ) -> Fetched | None:
        source, into, rules = order.source, aside.path / "fetched", self._rules
        try:
            if source.is_local:
                return fetch_from_disk(source, into, known, rules, patience)
            if source.scheme == "rsync":
                return fetch_by_rsync(source, into, known, rules, patience, lock=aside.fd)
            return fetch_from_web(source, into, known, rules, patience)
        except (Away, FetchStopped):
            raise
        except Unfit as error:
            raise Unfit(f"could not fetch {order}: {error.what}") from None

    def _install(self, order: _Order, fetched: Fetched, aside: FileLock, patience: Patience) -> str:
        """Install the fetched file and return its version. It is moved to its place when it is complete and on the
        disk.
        """
        if order.sha256 not in {None, fetched.sha256}:
            raise Unfit(f"{order} has the sha256 {fetched.sha256}, not {order.sha256} as requested")
        version = f"{fetched.sha256}.{order.source.form}"
        if self._has(version):
            with suppress(
                FileNotFoundError
            ):  # Another process is just removing it; a later copy of it will detect that.
                os.utime(self._shelves.versions / version)
            return version
        contents = self._survey(fetched.path, order.source.form, order, patience)
        self._reserve(order, fetched, contents, aside, patience)
        tree = aside.path / "version"
        tree.mkdir(mode=0o700)
        try:
            executable = unpack(fetched.path, order.source.form, tree / PROGRAM, self._rules, patience)
        except (Away, FetchStopped):
            raise
        except Unfit as error:
            raise Unfit(f"{order} cannot be unpacked: {error.what}") from None
        if executable is None:
            raise Unfit(f"program '{order.program}' has no run.sh at the top level of {order.source.shown}")
        if not executable:
            raise Unfit(f"run.sh of {order} is not executable")
        fetched.path.rename(tree / FETCHED)
        reached(Failpoint.PROGRAM_UNPACKED)
        self._publish(aside, tree, version, patience)
        reached(Failpoint.PROGRAM_INSTALLED)
        return version

    def _survey(self, archive: Path, form: Form, order: _Order, patience: Patience) -> Contents:
        try:
            return survey(archive, form, self._rules, patience)
        except (Away, FetchStopped):
            raise
        except Unfit as error:
            raise Unfit(f"{order} cannot be unpacked: {error.what}") from None

    def _reserve(
        self, order: _Order, fetched: Fetched, contents: Contents, aside: FileLock, patience: Patience
    ) -> None:
        """Reserve the room for the version before it is unpacked."""
        needs = fetched.path.stat().st_size + contents.bytes + MEMBER_BYTES * (contents.members + 2)
        bytes_max = self._rules.dir_bytes_max
        with self._only_one(patience):
            if not self._shelves.reserve(aside.path, needs, bytes_max):
                why = "is more than" if needs > bytes_max else "with the versions in use is more than"
                raise Unfit(
                    f"{order} cannot be stored: it takes {needs} bytes, which {why} the {bytes_max} bytes "
                    "that SLUICE_PROGRAMS_DIR_SIZE allows all versions together"
                )

    def _publish(self, aside: FileLock, tree: Path, version: str, patience: Patience) -> None:
        for path in (tree / FETCHED, tree):
            _sync(path)
        with self._only_one(patience):
            try:
                self._shelves.publish(aside.path, tree, self._shelves.versions / version)
            except OSError:
                if not self._has(version):  # Otherwise the same content came from another source.
                    raise
        _sync(self._shelves.versions)

    def _only_one(self, patience: Patience) -> AbstractContextManager[None]:
        """Lock the folder of versions while one is counted or moved into it."""
        return sole(self._shelves.versions, patience, lambda: None)

    def _has(self, version: str) -> bool:
        return (self._shelves.versions / version).is_dir()

    def _sweep_now_and_then(self) -> None:
        now = time.monotonic()
        if self._swept_at is None or now - self._swept_at >= SWEEP_S:
            self._swept_at = now
            self._contents = {name: known for name, known in self._contents.items() if self._has(name)}
            self._shelves.sweep(self._rules.versions_max)

    @contextmanager
    def _shelved(self, order: _Order) -> Iterator[None]:
        """Turn errors of the store itself into Unfit with a text. A caller that was stopped only receives Stopped."""
        try:
            yield
        except FetchStopped:
            raise FetchStopped(f"fetching {order} was stopped") from None
        except Away as error:
            raise Unfit(f"could not fetch {order}: {error.what}") from None
        except OSError as error:
            raise Unfit(f"{order} cannot be stored at {self._shelves.folder}: {reason_of(error)}") from None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_sha256(text: str | None) -> str | None:
    if text is None or _SHA256.fullmatch(text.lower()):
        return text and text.lower()
    raise Unfit(f"{quoted(text)} is not a sha256, which has 64 hexadecimal digits")


def copy_version(version: Path, folder: Path, patience: Patience, *, lock: int) -> None:
    """Copy the version into the folder. OSError if the disk fails. It is a copy, not a tree of links, for two reasons.

    Programs write to their own folder, and file modes do not restrict a worker that is root. A change by one run would
    be part of the next run, even with a ``sha256``. The copy is made by ``cp``, not by this process. A descriptor that
    is open for writing here may be inherited by a child that another thread is starting. The kernel does not execute a
    file that is open for writing.
    """
    answer = run_watched(("cp", "-RPp", "--", str(version), str(folder)), patience, holds=(lock,))
    if answer.code != 0:
        said = answer.stderr.partition("\n")[0].rpartition(": ")[2]
        raise OSError(answer.code, one_line(said) or f"cp ended with {answer.code}")
