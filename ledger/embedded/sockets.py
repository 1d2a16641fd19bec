"""The socket folder of the server: only its owner can enter it, and its path is short enough for the kernel."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from sluice.ledger.embedded.account import ROOT, Account
from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.place import Place

#: Part of the socket's name. The server does not listen on TCP.
PORT = 5432

#: Bytes that a socket's path may have: `sun_path` holds 107 on Linux and 103 on macOS.
PATH_BYTES_MAX = 100


def prepare(place: Place, account: Account, temp: Path) -> Path:
    """Return the socket folder for a server that is about to start: `place.socket`, or a shorter path that it
    links to."""
    discard(place)
    if _fits(place.socket):
        _make_private(place.socket, account)
        return place.socket
    short = next(_short(place, account, temp), None)
    if short is None:
        raise EmbeddedUnavailable(
            f"{place.socket} is too long for a socket, and no temporary folder is short enough and open to "
            f"uid {account.uid}. Set TMPDIR to such a folder, or choose a shorter home."
        )
    _make_private(short, account)
    place.socket.symlink_to(short)
    return short


def discard(place: Place) -> None:
    """Remove the socket folder of a server that has ended, with a socket that it may have left."""
    if place.socket.is_symlink():
        short = place.socket.readlink()
        if short.exists():
            _check_private(short, place.owner)
            shutil.rmtree(short)
        place.socket.unlink()
    else:
        shutil.rmtree(place.socket, ignore_errors=True)


def url(place: Place, database: str) -> str:
    """Return the address of the server. The port is explicit, because otherwise PGPORT would apply."""
    folder = place.socket.resolve()
    _check_private(folder, place.owner)
    host = quote(os.fsencode(folder))
    return f"postgresql://sluice:{place.password.read_text()}@/{database}?host={host}&port={PORT}"


def _fits(folder: Path) -> bool:
    """Return whether the kernel and libpq can address a socket in this folder. libpq reads a comma as two hosts."""
    path = os.fsencode(folder / f".s.PGSQL.{PORT}")
    return len(path) <= PATH_BYTES_MAX and b"," not in path


def _short(place: Place, account: Account, temp: Path) -> Iterator[Path]:
    name = f"sluice-{account.uid}-{hashlib.sha256(os.fsencode(place.folder)).hexdigest()[:16]}"
    for parent in (temp.resolve(), Path("/tmp").resolve()):  # noqa: S108 - the folder's owner is checked
        if _fits(parent / name) and account.reaches(parent):
            yield parent / name


def _make_private(folder: Path, account: Account) -> None:
    """Create the folder, or replace ours. In a temporary folder, another user may have created one with this name
    before."""
    if folder.exists() or folder.is_symlink():
        _check_private(folder, account.uid)
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    if os.geteuid() == ROOT:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)


def _check_private(folder: Path, uid: int) -> None:
    """Refuse a folder in which another user could listen, because that user would receive everything sent to
    Postgres."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid or found.st_mode & 0o077:
        raise EmbeddedUnavailable(
            f"{folder} should be a folder of uid {uid} with mode 0700, and is not: another user may have "
            "created it. Check it, remove it, and try again."
        )
