"""Valid names of archive members and of programs."""

import re
from typing import Final

from sluice.jobs.programs.errors import Unfit

DEPTH_MAX: Final = 32
NAME_BYTES_MAX: Final = 255
PATH_BYTES_MAX: Final = 1024
PROGRAM_CHARS_MAX: Final = 100

_DRIVE = re.compile(r"[A-Za-z]:")
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@=-]*")


def check_program_name(name: str) -> str:
    """Return the name. Unfit if a file system might not accept it unchanged, because it is also the name of a
    folder.
    """
    if len(name) <= PROGRAM_CHARS_MAX and _PROGRAM.fullmatch(name):
        return name
    raise Unfit(
        f"{quoted(name)} cannot be the name of a program; it is made of letters, digits and ._+@=-, "
        f"begins with a letter, a digit or _, and has at most {PROGRAM_CHARS_MAX} characters"
    )


def parts_of(raw: bytes | str) -> tuple[str, ...]:
    """Return the folders and the name of a member, without ``.`` parts. Empty for the top folder itself."""
    name = _text(raw)
    if "\0" in name:
        raise Unfit(f"the member {quoted(name)} has a NUL in its name")
    if name.startswith("/") or _DRIVE.match(name):
        raise Unfit(f"the member {quoted(name)} has an absolute path")
    if "\\" in name:
        raise Unfit(f"the member {quoted(name)} has a backslash in its name")
    if not name.isprintable():
        raise Unfit(f"the member {quoted(name)} has characters in its name that cannot be printed")
    parts = tuple(part for part in name.split("/") if part not in {"", "."})
    if ".." in parts:
        raise Unfit(f"the member {quoted(name)} leads out of the archive")
    if len(parts) > DEPTH_MAX:
        raise Unfit(f"the member {quoted(name)} is deeper than {DEPTH_MAX} folders")
    if len(name.encode()) > PATH_BYTES_MAX or any(len(part.encode()) > NAME_BYTES_MAX for part in parts):
        raise Unfit(f"the member {quoted(name)} has too long a name")
    return parts


def quoted(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:79]}…")


def _text(raw: bytes | str) -> str:
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Unfit(
            f"the member {quoted(raw.decode('utf-8', 'replace'))} has a name that is not UTF-8"
        ) from None
