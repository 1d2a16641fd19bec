"""The files of a server.

    home/postgres.lock      held exclusively by the process that starts or stops the server
    home/postgres           a link to the place, home/postgres-XXXXXXXX: mode 0700, owned by the server's account
        data/               made by initdb; complete or missing
        password            mode 0600
        socket              a folder, or a link to one with a shorter path (see sockets.py)
        users               held shared by every user of the server
        alive               held by the server itself, from its first process to its last (see server.py)
        home                the path of the home that the place belongs to
        postgres.log        the log, and postgres.log.1, the previous one

The reason for the link: if a home is removed under a running server, the server notices within a minute and removes its
socket, by path. A unique name for each place keeps it from removing the socket of the next server.

The account may be unable to pass through the folders above home although root can. We must not open those folders, so
the place is then in the shelter. Removing such a home leaves its place behind.
"""

import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sluice.ledger.embedded import shelter
from sluice.ledger.embedded.account import ROOT, Account, give_to_folder_owner
from sluice.ledger.embedded.errors import EmbeddedUnavailable


@dataclass(frozen=True, kw_only=True)
class Place:
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


def find(home: Path) -> Place | None:
    """Return the place of a home, or None if it has none yet."""
    link = home / "postgres"
    if link.exists():
        return Place(folder=link.resolve())
    if link.is_symlink():
        raise EmbeddedUnavailable(
            f"The data of {home} were in {link.readlink()}, which is missing. Restore it, or remove the link "
            f"{link} to begin with an empty ledger."
        )
    return None


def found(home: Path, account: Account, shelter_folder: Path) -> Place:
    """Create the place of a home that has none. The link appears when the place is complete."""
    at_home = account.reaches(home)
    parent = home if at_home else shelter.opened(shelter_folder)
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=parent))
    if os.geteuid() == ROOT:
        os.chown(folder, account.uid, account.gid)
    _write(folder / "password", secrets.token_urlsafe(32).encode())
    _write(folder / "home", os.fsencode(home))
    (home / "postgres").symlink_to(folder.name if at_home else folder)  # Relative, because home may be moved.
    return Place(folder=folder)


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    give_to_folder_owner(path)
