"""The account that the server runs as.

Postgres refuses uid 0, and initdb refuses a uid that the passwd file does not contain. So:

    we are   | the files' owner | the server runs as
    not root | we               | we
    root     | another user     | that user, which may also start it and must own all files
    root     | root             | root outside and `nobody` inside a user namespace;
             |                  | without user namespaces `nobody`, which then owns the files of a new server

A user namespace also helps an owner without a passwd entry, if the machine allows one. No account is created, and no
existing folder changes its mode or its owner.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from sluice.ledger.embedded.errors import EmbeddedUnavailable

ROOT = 0


@dataclass(frozen=True, kw_only=True)
class Account:
    """Owner of files, and the way to run programs as this owner."""

    uid: int
    gid: int
    #: True if a program changes from this user to that one. Only root can do that.
    drops: bool = False

    #: Words before the command of a program that runs in a user namespace.
    namespace: tuple[str, ...] = ()

    def run(
        self,
        *argv: str | Path,
        within_s: float,
        output: IO[bytes] | int = subprocess.PIPE,
        keeping: Sequence[int] = (),
        wrapper: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program to its end, in its own session, with stdout and stderr as one output.

        It inherits only the descriptors in `keeping`. `wrapper` is the beginning of the command line.
        """
        try:
            return subprocess.run(
                [*wrapper, *self.namespace, *argv],
                check=False,
                timeout=within_s,
                cwd="/",  # Ours may be closed to the account, and initdb reads its working directory.
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=keeping,
                start_new_session=True,
                user=self.uid if self.drops else None,
                group=self.gid if self.drops else None,
                extra_groups=() if self.drops else None,
            )
        except (OSError, subprocess.TimeoutExpired) as failed:
            raise EmbeddedUnavailable(
                f"{argv[0]} could not be run as uid {self.uid}: {failed}. Allow it, or work as an ordinary "
                "user, or set SLUICE_LEDGER_URL to a database of your own."
            ) from failed

    def reaches(self, folder: Path) -> bool:
        """Return whether the account may pass through the folder. Tested by a program, because modes alone are not
        enough."""
        if not self.drops and not self.namespace:
            return True
        return self.run("test", "-x", folder, within_s=10).returncode == 0


def account_for(folder: Path, *, namespaces: bool) -> Account:
    """Return the account for a server with files that belong, or will belong, to the owner of `folder`."""
    if os.geteuid() == ROOT:
        owner = folder.stat()
        account = Account(uid=owner.st_uid, gid=owner.st_gid, drops=owner.st_uid != ROOT)
    else:
        account = Account(uid=os.geteuid(), gid=os.getegid())
    if account.uid != ROOT and _has_entry(account.uid):
        return account
    mapped = _mapped(account) if namespaces else None
    return mapped or (_nobody() if account.uid == ROOT else account)


def give_to_folder_owner(path: Path) -> None:
    """Give a path that root created to the owner of its folder, because otherwise that owner would have no access."""
    if os.geteuid() == ROOT:
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _mapped(account: Account) -> Account | None:
    """Return the account in a user namespace, or None if the kernel, a container or an old `unshare` refuses it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    inside = _nobody()
    namespace = (unshare, "--user", f"--map-user={inside.uid}", f"--map-group={inside.gid}", "--")
    mapped = replace(account, namespace=namespace)
    return mapped if mapped.run("true", within_s=10).returncode == 0 else None


def _nobody() -> Account:
    """Return the unprivileged account that every system has. A uid of our own would have no passwd entry."""
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return Account(uid=65534, gid=65534, drops=True)
    return Account(uid=entry.pw_uid, gid=entry.pw_gid, drops=True)


def _has_entry(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _environment() -> dict[str, str]:
    """Return our environment without PG*, which would change the server's port and encoding.

    TZ saves initdb a search through the zone files. LC_ALL keeps messages in English and avoids warnings on macOS.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {"TZ": "UTC", "LC_ALL": "C"}
