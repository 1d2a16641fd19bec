"""Launch of a server process in a place."""

import os
import shutil
from pathlib import Path

from sluice.ledger.embedded import binaries, sockets
from sluice.ledger.embedded.account import ROOT, Account, account_for, give_to_folder_owner
from sluice.ledger.embedded.binaries import Binaries
from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.filelock import FileLock
from sluice.ledger.embedded.machine import Machine
from sluice.ledger.embedded.place import Place
from sluice.ledger.embedded.settings import settings

INITDB_WITHIN_S = 120
LOG_BYTES_MAX = 1_000_000


def launch(place: Place, machine: Machine, alive: FileLock, *, durable: bool) -> None:
    """Start a server in a place that has none. It does not answer yet.

    `alive` must be held exclusively, which proves that no process of an earlier server is left. So a pid file on disk
    is stale, even if another program has that pid by now. The server inherits `alive`. So does initdb, which may
    outlive us, and removes its folder when it fails.
    """
    account = _account(place, machine)
    programs = binaries.find(machine, account)
    if not place.data.exists():
        _create_data(place, account, alive, programs, durable=durable)
    _check_version(place, programs)
    (place.data / "postmaster.pid").unlink(missing_ok=True)
    listening = sockets.prepare(place, account, machine.temp)
    _roll(place.log)
    _spawn(place, account, alive, programs, settings(listening, programs.major, durable=durable))


def _account(place: Place, machine: Machine) -> Account:
    account = account_for(place.folder, namespaces=machine.namespaces)
    if account.drops and place.owner == ROOT:
        raise EmbeddedUnavailable(
            f"{place.folder} is root's, and Postgres runs as root in a user namespace only, which this "
            f"machine refuses. Allow it, or run `chown -R {account.uid}:{account.gid} {place.folder}`, "
            "and try again."
        )
    return account


def _create_data(
    place: Place, account: Account, alive: FileLock, programs: Binaries, *, durable: bool
) -> None:
    """Run initdb beside the final folder and rename at the end, so that a crash leaves no incomplete data folder."""
    fresh = place.folder / "data.new"
    shutil.rmtree(fresh, ignore_errors=True)
    options = ["--username=sluice", f"--pwfile={place.password}", "--auth=scram-sha-256", "--encoding=UTF8"]
    options += ["--locale=C", "--no-instructions", *([] if durable else ["--no-sync"])]
    done = account.run(programs.initdb, "-D", fresh, *options, within_s=INITDB_WITHIN_S, keeping=(alive.fd,))
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace").strip()
        raise EmbeddedUnavailable(
            f"{programs.initdb} could not make a database in {fresh} as uid {account.uid}:\n{said}\n"
            "Fix the reported problem and try again, or set SLUICE_LEDGER_URL to a database of your own."
        )
    fresh.rename(place.data)


def _check_version(place: Place, programs: Binaries) -> None:
    written = (place.data / "PG_VERSION").read_text().strip()
    if written != str(programs.major):
        raise EmbeddedUnavailable(
            f"{place.data} was written by Postgres {written}, and {programs.postgres} is Postgres "
            f"{programs.major}, which cannot read it. Bring Postgres {written} back, or move the data with "
            f"pg_upgrade, or remove {place.folder} and the link to it to begin with an empty ledger."
        )


def _roll(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
        log.replace(log.with_name("postgres.log.1"))


def _spawn(place: Place, account: Account, alive: FileLock, programs: Binaries, options: list[str]) -> None:
    """Start postgres as a child of no user of the server.

    The shell puts it into the background of a session without a terminal, and ends. So it receives no Ctrl-C, no user
    has to reap it, and all users detect its end in the same way, from `alive`.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(place.log, flags, 0o600), "ab") as log:
        give_to_folder_owner(place.log)
        account.run(
            programs.postgres,
            "-D",
            place.data,
            *options,
            within_s=10,
            output=log,
            keeping=(alive.fd,),
            wrapper=("/bin/sh", "-c", '"$@" &', "sluice"),
        )
