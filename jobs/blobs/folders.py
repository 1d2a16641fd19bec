"""Files of a store that is a folder, reached without following any link below it.

Names of blobs come from the ledger, and folders below the store's may have been replaced by a link. Each part of a name
is opened relative to the folder before it, so that nothing outside the store is reached, whatever is changed meanwhile.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
#: The output of jobs may be secret, so other users of the machine have no access.
_MODE: Final = 0o700
#: A folder or file that does not exist, or that is a link.
_NOT_THERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def make_root(root: str) -> None:
    """Create the folder of the store for its user alone. An existing one keeps its mode, which is the operator's."""
    Path(root).mkdir(mode=_MODE, parents=True, exist_ok=True)


def open_file(root: str, name: str) -> IO[bytes]:
    """Open a file to read it. OSError if it does not exist, is no regular file, or a link leads to it."""
    with _parent(root, name) as (folder, leaf):
        descriptor = os.open(leaf, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is not a regular file")
    return os.fdopen(descriptor, "rb")


def remove_file(root: str, name: str) -> None:
    """Remove a file, and its folder if that is empty then. One that does not exist counts as removed; so does one that
    only a link leads to, because it is not in the store."""
    try:
        with _parent(root, name) as (folder, leaf):
            os.unlink(leaf, dir_fd=folder)
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise
    above, _, own = name.rpartition("/")[0].rpartition("/")
    with suppress(OSError), _parent(root, f"{above}/{own}" if above else own) as (folder, leaf):
        os.rmdir(leaf, dir_fd=folder)


@contextmanager
def _parent(root: str, name: str) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder that a name is in, and the last part of the name."""
    *parts, leaf = name.split("/")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder, leaf
    finally:
        os.close(folder)
