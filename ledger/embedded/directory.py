"""Files and sockets of the server.

    home/postgres.lock      held exclusively by the process that starts or stops the server
    home/postgres           a link to the place, home/postgres-XXXXXXXX: mode 0700, owned by the server's account
        data/               made by initdb; complete or missing
        password            mode 0600
        socket              a folder, or a link to one with a shorter path (``prepare``)
        users               held shared by every user of the server
        alive               held by the server itself, from its first process to its last (``ledger.embedded.server``)
        home                the path of the home that the place belongs to
        postgres.log        the log, and postgres.log.1, the previous one

The reason for the link: if a home is removed under a running server, the server notices within a minute. It then
removes its socket, by path. A unique name for each place keeps it from removing the socket of the next server.

The shelter is root's folder for files that another account must reach but cannot reach in their usual place
(``opened``). The account may be unable to pass through the folders above home although root can. We must not open those
folders, so the place is then in the shelter. Removing such a home leaves its place behind.

Only the owner of the socket folder can enter it, and its path is short enough for the kernel.
"""

import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.os_user import ROOT, Account, give_to_folder_owner


@dataclass(frozen=True, kw_only=True)
class ServerDirectory:
    """The folder of one server. It belongs to the server's account, and got its password before its name."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def password(self) -> Path:
        return self.folder / "password"

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def users(self) -> Path:
        return self.folder / "users"

    @property
    def alive(self) -> Path:
        return self.folder / "alive"

    @property
    def log(self) -> Path:
        return self.folder / "postgres.log"

    @property
    def owner(self) -> int:
        return self.folder.stat().st_uid


def find(home: Path) -> ServerDirectory | None:
    """Return the place of a home, or None if it has none yet."""
    link = home / "postgres"
    if link.exists():
        return ServerDirectory(folder=link.resolve())
    if link.is_symlink():
        raise EmbeddedUnavailable(
            f"The data of {home} were in {link.readlink()}, which is missing. Restore it, or remove the link "
            f"{link} to begin with an empty ledger."
        )
    return None


def found(home: Path, account: Account, shelter_folder: Path) -> ServerDirectory:
    """Create the place of a home that has none. The link appears when the place is complete."""
    at_home = account.reaches(home)
    parent = home if at_home else opened(shelter_folder)
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=parent))
    if os.geteuid() == ROOT:
        os.chown(folder, account.uid, account.gid)
    _write(folder / "password", secrets.token_urlsafe(32).encode())
    _write(folder / "home", os.fsencode(home))
    (home / "postgres").symlink_to(folder.name if at_home else folder)  # Relative, because home may be moved.
    return ServerDirectory(folder=folder)


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    give_to_folder_owner(path)


def opened(shelter: Path) -> Path:
    """Return the shelter; create it if it is missing. Other accounts may pass through it but not list it. We must own
    it."""
    if not shelter.exists():
        shelter.mkdir(parents=True)
        shelter.chmod(0o711)  # Not by mkdir, which applies the umask.
    if shelter.stat().st_uid != os.geteuid():
        raise EmbeddedUnavailable(
            f"{shelter} belongs to another user, so nothing can be kept in it. "
            f"Give it to uid {os.geteuid()}, or remove it, and try again."
        )
    return shelter


#: Part of the socket's name. The server does not listen on TCP.
PORT = 5432

#: Bytes that a socket's path may have: `sun_path` holds 107 on Linux and 103 on macOS.
PATH_BYTES_MAX = 100


def prepare(place: ServerDirectory, account: Account, temp: Path) -> Path:
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


def discard(place: ServerDirectory) -> None:
    """Remove the socket folder of a server that has ended, with a socket that it may have left."""
    if place.socket.is_symlink():
        short = place.socket.readlink()
        if short.exists():
            _check_private(short, place.owner)
            shutil.rmtree(short)
        place.socket.unlink()
    else:
        shutil.rmtree(place.socket, ignore_errors=True)


def url(place: ServerDirectory, database: str) -> str:
    """Return the address of the server. The port is explicit, because otherwise PGPORT would apply."""
    folder = place.socket.resolve()
    _check_private(folder, place.owner)
    host = quote(os.fsencode(folder))
    return f"postgresql://sluice:{place.password.read_text()}@/{database}?host={host}&port={PORT}"


def _fits(folder: Path) -> bool:
    """Return whether the kernel and libpq can address a socket in this folder. libpq reads a comma as two hosts."""
    path = os.fsencode(folder / f".s.PGSQL.{PORT}")
    return len(path) <= PATH_BYTES_MAX and b"," not in path


def _short(place: ServerDirectory, account: Account, temp: Path) -> Iterator[Path]:
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
