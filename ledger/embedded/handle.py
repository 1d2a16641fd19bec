"""One user's hold on the shared server. A user is an open ``EmbeddedPostgres``.

Any number of processes use the server of one home. Invariants:

- Only the holder of home/postgres.lock, which is exclusive, starts or stops the server.
- Every user holds `users` shared, from before it searches for the server until it has left.
- A user leaves while it holds home/postgres.lock. It tries to hold `users` exclusively. If it succeeds, it was the last
  user, and stops the server before it releases the lock.
- A user that dies releases `users` by dying. The server stays, without users, and the next user finds it.

Races: if two processes start the first server concurrently, the second gets the lock when the server of the first is
ready, and joins. If a start and a last close are concurrent, either the start is first and the close finds another
user, or the start creates a new server.
"""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from sluice.ledger.embedded import place as places
from sluice.ledger.embedded import server
from sluice.ledger.embedded.account import account_for
from sluice.ledger.embedded.filelock import FileLock, exclusively
from sluice.ledger.embedded.launch import launch
from sluice.ledger.embedded.machine import Machine
from sluice.ledger.embedded.place import Place

#: Seconds to wait for another user's start: longer than the slowest first start.
LOCK_WITHIN_S = 200.0


class EmbeddedPostgres:
    """A running server, for as long as this object is open. It must be closed explicitly: the end of the process does
    not close it."""

    def __init__(self, home: Path, place: Place, users: FileLock, url: str) -> None:
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
        with exclusively(_lock(self._home), within_s=LOCK_WITHIN_S):
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
    with exclusively(_lock(home), within_s=LOCK_WITHIN_S):
        place = places.find(home) or _found(home, machine)
        users = FileLock(place.users)
        try:
            users.try_shared()  # Cannot fail: an exclusive holder would also hold our lock.
            url = server.ensure_running(place, lambda alive: launch(place, machine, alive, durable=durable))
        except KeyboardInterrupt:
            _leave(place, users)
            raise
        except BaseException:
            users.release()  # The server may stay: a slow recovery must not restart with each try.
            raise
        return EmbeddedPostgres(home, place, users, url)


def _lock(home: Path) -> Path:
    return home / "postgres.lock"


def _found(home: Path, machine: Machine) -> Place:
    return places.found(home, account_for(home, namespaces=machine.namespaces), machine.shelter)


def _leave(place: Place, users: FileLock) -> None:
    try:
        if users.try_exclusive():
            server.stop(place)
    finally:
        users.release()
