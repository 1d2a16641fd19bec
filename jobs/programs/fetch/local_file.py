"""Programs from files of this machine."""

import os
import stat
import time
from pathlib import Path
from typing import Final

from sluice.jobs.programs.errors import Away, Unfit, reason_of
from sluice.jobs.programs.fetch.download import DownloadFile, Patience
from sluice.jobs.programs.program_cache import Fetched, SourceMark
from sluice.jobs.programs.source import Rules, Source

CHUNK_BYTES: Final = 1024 * 1024
#: Seconds after which a time of a file is reliable. File system clocks are coarse: a file that has just changed may
#: change again with the same time.
SETTLED_S: Final = 2.0


def fetch_from_disk(
    source: Source, into: Path, known: SourceMark | None, rules: Rules, patience: Patience
) -> Fetched | None:
    """Copy the file. None if it has not changed since ``known`` was taken. Unfit if it cannot be read."""
    try:
        descriptor = os.open(source.place, os.O_RDONLY | os.O_NONBLOCK)  # A pipe would block.
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise Unfit("it is no file")
            if known is not None and known.stamp == _stamp(before):
                return None
            if source.form == "run.sh" and not before.st_mode & stat.S_IXUSR:
                raise Unfit("it is not executable")
            return _copy(descriptor, before, DownloadFile(into, rules.bytes_max), patience)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Unfit(reason_of(error)) from None


def _copy(descriptor: int, before: os.stat_result, new: DownloadFile, patience: Patience) -> Fetched:
    with new as spool:
        while chunk := os.read(descriptor, CHUNK_BYTES):
            patience.check()
            spool.add(chunk)
    if _stamp(os.fstat(descriptor)) != _stamp(before):
        raise Away("it changed while it was read")
    settled = time.time() - max(before.st_mtime, before.st_ctime) >= SETTLED_S
    return Fetched(
        path=new.path, sha256=spool.sha256, mark=SourceMark(stamp=_stamp(before) if settled else "")
    )


def _stamp(status: os.stat_result) -> str:
    """Return the file's size, times, identity and mode. The inode number changes if an equally old and large file
    replaces it.
    """
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    return f"{status.st_size} {times} {status.st_dev}:{status.st_ino} {status.st_mode:o}"
