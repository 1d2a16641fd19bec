"""Removal of a folder with all its contents, including any that a program has made hard to remove."""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove(folder: Path) -> bool:
    """Remove the folder and return whether it is gone. A run may have left folders that even its user cannot read.

    They may also be deeper than the limits of a path, the stack or the open files of this process allow
    (``shutil.rmtree`` fails at each of these). So every folder is moved to the top before it is read.
    """
    with suppress(OSError):
        folder.chmod(0o700)
        top = os.open(folder, _FOLDER)
        try:
            waiting = _emptied(top, top)
            while waiting:
                name = waiting.pop()
                with suppress(OSError):
                    waiting += _emptied_below(top, name)
                    os.rmdir(name, dir_fd=top)
        finally:
            os.close(top)
        folder.rmdir()
    return not folder.exists()


def _emptied_below(top: int, name: str) -> list[str]:
    here = os.open(name, _FOLDER, dir_fd=top)
    try:
        return _emptied(here, top)
    finally:
        os.close(here)


def _emptied(here: int, top: int) -> list[str]:
    """Remove the files, and move each folder to the top. Return the new names; entries that cannot be removed
    remain.
    """
    moved = []
    with os.scandir(here) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in entries:
        with suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=here)
                continue
            os.chmod(name, 0o700, dir_fd=here)
            new = token_hex(8)
            os.rename(name, new, src_dir_fd=here, dst_dir_fd=top)
            moved.append(new)
    return moved
