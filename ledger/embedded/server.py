"""Liveness of the server: start it when it is needed, and stop it when it is not.

A lock determines whether the server exists, and not a pid. The first process of a server starts with the file `alive`
locked. All its later processes inherit that descriptor, and Postgres leaves it open. So an attempt to lock it shows:

    free    no process of the server is left, whether after a stop, a SIGKILL or a reboot
    held    at least one exists: starting, serving, recovering, stopping, or a backend of a killed postmaster,
            which ends by itself; until it has ended, no second server may start

A pid file cannot show this. After a crash its pid may belong to another program, and it does not list backends. It is
read for one purpose, to signal a server that has just answered.

The caller of ``ensure_running`` and ``stop`` must hold home/postgres.lock, so that no user starts a server that another
one stops.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator

import psycopg
from psycopg.pq import PGconn, Ping

from sluice.ledger.embedded import sockets
from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.filelock import POLL_S, FileLock
from sluice.ledger.embedded.place import Place

#: Seconds until a server must be ready. Long, because recovery after a crash is part of it.
READY_WITHIN_S = 60.0

GONE_WITHIN_S = 60.0
PAUSE_S_MAX = 0.2
LOG_TAIL_LINES = 20


def ensure_running(place: Place, launch: Callable[[FileLock], None]) -> str:
    """Return the url of a server that accepts our connections and has its database. At most one server is launched.

    `launch` gets `alive`, held exclusively, and passes it on to the server.
    """
    launched = False
    for _ in _tries(place, READY_WITHIN_S, "did not answer in time. It may still be recovering from a crash"):
        alive = FileLock(place.alive)
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


def stop(place: Place) -> None:
    """Shut the server down with open transactions rolled back, and return when its last process has ended."""
    alive = FileLock(place.alive)
    try:
        signalled = False
        for _ in _tries(place, GONE_WITHIN_S, "did not stop in time"):
            if alive.try_exclusive():
                break
            signalled = signalled or _signal_stop(place)
        sockets.discard(place)
    finally:
        alive.release()


def _tries(place: Place, within_s: float, otherwise: str) -> Iterator[None]:
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
        alive.hand_over()  # Even after a failure: a started process may live and hold the lock.


def _ping(place: Place) -> Ping:
    if not place.socket.exists():
        return Ping.NO_RESPONSE
    return Ping(PGconn.ping(f"{sockets.url(place, 'sluice')}&connect_timeout=2".encode()))


def _with_database(place: Place) -> str:
    """Connect as users will, and create the database if an earlier start was interrupted before that."""
    maintenance = sockets.url(place, "postgres")
    try:
        with psycopg.connect(maintenance, autocommit=True, connect_timeout=10) as connection:
            if not connection.execute("SELECT FROM pg_database WHERE datname = 'sluice'").rowcount:
                connection.execute("CREATE DATABASE sluice")
    except psycopg.OperationalError as refused:
        raise _failure(place, f"answers, but refuses the connection: {refused}") from refused
    return sockets.url(place, "sluice")


def _signal_stop(place: Place) -> bool:
    """Send the postmaster the signal for a fast shutdown. Return False without a signal if no server answers."""
    if _ping(place) == Ping.NO_RESPONSE:
        return False
    pid = int((place.data / "postmaster.pid").read_text().split("\n", 1)[0])
    os.kill(pid, signal.SIGINT)
    return True


def _failure(place: Place, what: str) -> EmbeddedUnavailable:
    lines = place.log.read_text(errors="replace").splitlines() if place.log.exists() else []
    knocks = "the database system is starting up"  # Answers to our own pings.
    telling = [line for line in lines if knocks not in line]
    tail = "\n".join(telling[-LOG_TAIL_LINES:]) or "(empty)"
    return EmbeddedUnavailable(
        f"The embedded Postgres in {place.folder} {what}. Try again, or set SLUICE_LEDGER_URL to a database "
        f"of your own. The end of {place.log}:\n{tail}"
    )
