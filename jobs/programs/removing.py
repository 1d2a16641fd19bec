"""How a folder goes with all that is in it, whatever a program has made of it."""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove(folder: Path) -> bool:
    """Whether it is gone. A run may have left folders that it may not even look into itself.

    They may also lie deeper than a path, the stack or the open files of this process reach (``shutil.rmtree`` ends
    at each of these), so every folder is moved up to the top before it is looked into.
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
    """Remove what is no folder, and move what is one: the new names at the top. What does not go is left."""
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
