"""Files of a store that is a folder. No link below that folder is followed.

Names of blobs come from the ledger, and a folder inside the store may have been replaced by a link. Each part of a
name is opened relative to the folder before it. So nothing outside the store is reached, even if folders change
during the access.
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
#: Mode of the store's folder. The output of jobs may be secret, so other users of the machine have no access.
_MODE: Final = 0o700
#: Errors for a folder or file that does not exist, or that is a link.
_NOT_THERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def make_root(root: str) -> None:
    """Create the folder of the store, accessible to its user only. An existing folder keeps the operator's mode."""
    Path(root).mkdir(mode=_MODE, parents=True, exist_ok=True)


def open_file(root: str, name: str) -> IO[bytes]:
    """Open a file for reading. Raises OSError if it does not exist, is no regular file, or is reached by a link."""
    with _parent(root, name) as (folder, leaf):
        descriptor = os.open(leaf, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is not a regular file")
    return os.fdopen(descriptor, "rb")


def remove_file(root: str, name: str) -> None:
    """Remove a file, and its folder if that becomes empty.

    A missing file counts as removed. So does a file behind a link, because it is not in the store.
    """
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
    """Yield a descriptor of the folder that contains the name, and the last part of the name."""
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
