"""Token of a console without a configured token.

Every user of the machine can reach a console on the loopback address, and a submission can run code. So the console
makes a token of its own, in a file under SLUICE_HOME that only its user can read. The token survives restarts, so
sessions and bookmarks stay valid. Remove the file to get another token.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from sluice.jobs.errors import BadSetting

FILE = "console.token"
#: Random bytes of a token: 128 bits.
_RANDOM_BYTES = 16
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def own_token(home: Path) -> str:
    """Return the token. Make it if it is missing."""
    path = home / FILE
    try:
        return kept_token(home) or _made(path)
    except OSError as error:
        raise BadSetting(
            f"The console's token cannot be kept in {path}: {error.strerror or error}.",
            advice="Set SLUICE_CONSOLE_TOKEN, or set SLUICE_HOME to a writable folder.",
        ) from None


def kept_token(home: Path) -> str | None:
    """Return the token of an earlier start. BadSetting if another user could know it."""
    path = home / FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor) as file:
        found = os.fstat(descriptor)
        if found.st_mode & _OTHERS or found.st_uid != os.geteuid():
            raise BadSetting(
                f"Other users may know the console's token: {path} is accessible to other users.",
                advice="Remove the file; the next start makes a new token.",
            )
        return file.read().strip() or None


def _made(path: Path) -> str:
    """Make the token. If two consoles start at the same time, both return the token of the console that links its file
    first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secrets.token_urlsafe(_RANDOM_BYTES)}\n")
        with suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink()
    token = kept_token(path.parent)
    if token is None:
        raise BadSetting(f"The console's token in {path} is empty.", advice="Remove the file.")
    return token
