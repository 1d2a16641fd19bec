"""The shared server process: launch, liveness, and the processes that use it.

The server is started when it is needed (``ensure_running``, ``launch``), and stopped when it is not (``stop``). Any
number of processes use the server of one home. Each of these users has an open ``EmbeddedPostgres``.

A lock determines whether the server exists, and not a pid. The first process of a server starts with the file `alive`
locked. All its later processes inherit that descriptor, and Postgres leaves it open. So an attempt to lock it shows:

    free    no process of the server is left, whether after a stop, a SIGKILL or a reboot
    held    at least one exists: starting, serving, recovering, stopping, or a backend of a killed postmaster,
            which ends by itself; until it has ended, no second server may start

A pid file cannot show this. After a crash its pid may belong to another program, and it does not list backends. It is
read for one purpose, to signal a server that has just answered.

Invariants:

- Only the holder of home/postgres.lock, which is exclusive, starts or stops the server. So the caller of
  ``ensure_running`` and ``stop`` must hold it, and no user starts a server that another one stops.
- Every user holds `users` shared, from before it searches for the server until it has left.
- A user leaves while it holds home/postgres.lock. It tries to hold `users` exclusively. If it succeeds, it was the last
  user, and stops the server before it releases the lock.

Races: if two processes start the first server concurrently, the second gets the lock when the server of the first is
ready, and joins. If a start and a last close are concurrent, there are two cases. Either the start is first and the
close finds another user, or the start creates a new server.

A user that dies releases `users` by dying. The server stays, without users, and the next user finds it.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg.pq import PGconn, Ping

from sluice.jobs.processes.file_lock import FileLock
from sluice.ledger.embedded import binaries, directory
from sluice.ledger.embedded import directory as places
from sluice.ledger.embedded.binaries import Binaries, Machine
from sluice.ledger.embedded.directory import ServerDirectory
from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.os_user import ROOT, Account, account_for, give_to_folder_owner
from sluice.ledger.embedded.settings import settings

#: Seconds until a server must be ready. Long, because recovery after a crash is part of it.
READY_WITHIN_S = 60.0

GONE_WITHIN_S = 60.0
POLL_S = 0.005
PAUSE_S_MAX = 0.2
LOG_TAIL_LINES = 20


def ensure_running(place: ServerDirectory, launch: Callable[[FileLock], None]) -> str:
    """Return the url of a server that accepts our connections and has its database. At most one server is launched.

    `launch` gets `alive`, held exclusively, and passes it on to the server.
    """
    launched = False
    for _ in _tries(place, READY_WITHIN_S, "did not answer in time. It may still be recovering from a crash"):
        alive = _opened(place.alive)
        if not alive.try_exclusive():
            alive.release()
            if _ping(place) == Ping.OK:
                break
        elif launched:
            alive.release()
            raise _failure(place, "ended as soon as it had been started")
        else:
            _hand_to(launch, alive)
            launched = True
    return _with_database(place)


def stop(place: ServerDirectory) -> None:
    """Shut the server down with open transactions rolled back, and return when its last process has ended."""
    alive = _opened(place.alive)
    try:
        signalled = False
        for _ in _tries(place, GONE_WITHIN_S, "did not stop in time"):
            if alive.try_exclusive():
                break
            signalled = signalled or _signal_stop(place)
        directory.discard(place)
    finally:
        alive.release()


def _tries(place: ServerDirectory, within_s: float, otherwise: str) -> Iterator[None]:
    """Yield once per try, with growing pauses. Raise the failure at the time limit."""
    deadline = time.monotonic() + within_s
    pause_s = POLL_S
    while time.monotonic() < deadline:
        yield
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.1, PAUSE_S_MAX)
    raise _failure(place, otherwise)


def _hand_to(launch: Callable[[FileLock], None], alive: FileLock) -> None:
    try:
        launch(alive)
    finally:
        alive.close()  # Even after a failure: a started process may live and hold the lock.


def _ping(place: ServerDirectory) -> Ping:
    if not place.socket.exists():
        return Ping.NO_RESPONSE
    return Ping(PGconn.ping(f"{directory.url(place, 'sluice')}&connect_timeout=2".encode()))


def _with_database(place: ServerDirectory) -> str:
    """Connect as users will, and create the database if an earlier start was interrupted before that."""
    maintenance = directory.url(place, "postgres")
    try:
        with psycopg.connect(maintenance, autocommit=True, connect_timeout=10) as connection:
            if not connection.execute("SELECT FROM pg_database WHERE datname = 'sluice'").rowcount:
                connection.execute("CREATE DATABASE sluice")
    except psycopg.OperationalError as refused:
        raise _failure(place, f"answers, but refuses the connection: {refused}") from refused
    return directory.url(place, "sluice")


def _signal_stop(place: ServerDirectory) -> bool:
    """Send the postmaster the signal for a fast shutdown. Return False without a signal if no server answers."""
    if _ping(place) == Ping.NO_RESPONSE:
        return False
    pid = int((place.data / "postmaster.pid").read_text().split("\n", 1)[0])
    os.kill(pid, signal.SIGINT)
    return True


def _failure(place: ServerDirectory, what: str) -> EmbeddedUnavailable:
    lines = place.log.read_text(errors="replace").splitlines() if place.log.exists() else []
    knocks = "the database system is starting up"  # Answers to our own pings.
    telling = [line for line in lines if knocks not in line]
    tail = "\n".join(telling[-LOG_TAIL_LINES:]) or "(empty)"
    return EmbeddedUnavailable(
        f"The embedded Postgres in {place.folder} {what}. Try again, or set SLUICE_LEDGER_URL to a database "
        f"of your own. The end of {place.log}:\n{tail}"
    )


INITDB_WITHIN_S = 120
LOG_BYTES_MAX = 1_000_000


def launch(place: ServerDirectory, machine: Machine, alive: FileLock, *, durable: bool) -> None:
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
    listening = directory.prepare(place, account, machine.temp)
    _roll(place.log)
    _spawn(place, account, alive, programs, settings(listening, programs.major, durable=durable))


def _account(place: ServerDirectory, machine: Machine) -> Account:
    account = account_for(place.folder, namespaces=machine.namespaces)
    if account.drops and place.owner == ROOT:
        raise EmbeddedUnavailable(
            f"{place.folder} is root's, and Postgres runs as root in a user namespace only, which this "
            f"machine refuses. Allow it, or run `chown -R {account.uid}:{account.gid} {place.folder}`, "
            "and try again."
        )
    return account


def _create_data(
    place: ServerDirectory, account: Account, alive: FileLock, programs: Binaries, *, durable: bool
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


def _check_version(place: ServerDirectory, programs: Binaries) -> None:
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


def _spawn(
    place: ServerDirectory, account: Account, alive: FileLock, programs: Binaries, options: list[str]
) -> None:
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


#: Seconds to wait for another user's start: longer than the slowest first start.
LOCK_WITHIN_S = 200.0


class EmbeddedPostgres:
    """A running server, for as long as this object is open. It must be closed explicitly: the end of the process does
    not close it."""

    def __init__(self, home: Path, place: ServerDirectory, users: FileLock, url: str) -> None:
        self.url = url
        self._home = home
        self._place = place
        self._users = users
        self._pid = os.getpid()
        self._open = True

    def close(self) -> None:
        """Stop using the server, and stop it if it has no other user. A second call does nothing.

        In a fork of the process that opened it, this does nothing either, because the hold is the parent's. The fork
        shares it in one way: if the parent is killed, the server counts as used until the fork has ended.
        """
        if not self._open or os.getpid() != self._pid:
            return
        if not self._place.folder.exists():  # Removed by another program. Postgres notices and stops itself.
            self._open = False
            self._users.release()
            return
        with _exclusively(_lock(self._home), within_s=LOCK_WITHIN_S):
            self._open = False
            _leave(self._place, self._users)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_postgres(home: Path, machine: Machine, *, durable: bool) -> EmbeddedPostgres:
    """Do the work of `start` with the given machine."""
    home.mkdir(parents=True, exist_ok=True)
    home = home.resolve()
    with _exclusively(_lock(home), within_s=LOCK_WITHIN_S):
        place = places.find(home) or _found(home, machine)
        users = _opened(place.users)
        try:
            users.try_shared()  # Cannot fail: an exclusive holder would also hold our lock.
            url = ensure_running(place, lambda alive: launch(place, machine, alive, durable=durable))
        except KeyboardInterrupt:
            _leave(place, users)
            raise
        except BaseException:
            users.release()  # The server may stay: a slow recovery must not restart with each try.
            raise
        return EmbeddedPostgres(home, place, users, url)


def _lock(home: Path) -> Path:
    return home / "postgres.lock"


def _found(home: Path, machine: Machine) -> ServerDirectory:
    return places.found(home, account_for(home, namespaces=machine.namespaces), machine.shelter)


def _leave(place: ServerDirectory, users: FileLock) -> None:
    try:
        if users.try_exclusive():
            stop(place)
    finally:
        users.release()


@contextmanager
def _exclusively(path: Path, *, within_s: float) -> Iterator[None]:
    """Hold the lock of a file exclusively for the duration of a block."""
    lock = _opened(path)
    deadline = time.monotonic() + within_s
    try:
        while not lock.try_exclusive():
            if time.monotonic() > deadline:
                raise EmbeddedUnavailable(
                    f"{path} has been held for {within_s:.0f} s by another process, which is starting or "
                    "stopping the embedded Postgres. Wait for it, or end it, and try again."
                )
            time.sleep(POLL_S)
        yield
    finally:
        lock.release()


def _opened(path: Path) -> FileLock:
    """Return the lock of a file, not locked. If root creates the file, it belongs to the owner of the folder."""
    try:
        lock = FileLock(path)
    except PermissionError as refused:
        raise EmbeddedUnavailable(
            f"{path} cannot be opened: this embedded Postgres belongs to another user. "
            "Work as that user, or choose a home of your own."
        ) from refused
    give_to_folder_owner(path)
    return lock
