"""A server that is there when it is needed and gone when it is not.

Whether it is there is asked of a lock, and of no pid. The first process of a server is born with the file
`alive` locked; all its later processes inherit that descriptor, and Postgres leaves it open. So whoever tries
the lock learns:

    free    no process of the server is left, be it after a stop, a SIGKILL or a reboot
    held    one at least is: starting, serving, recovering, stopping, or a backend of a killed postmaster,
            which goes by itself; until it has gone, no second server may begin

A pid file cannot say this. After a crash its pid may be another program's, and it never speaks of backends.
It is read for one purpose, to address a server that has just answered.

Both verbs want home/postgres.lock to be held, so that no user starts what another one stops.
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

READY_WITHIN_S = 60.0
"""Long, because the recovery after a crash is part of it."""

GONE_WITHIN_S = 60.0
PAUSE_S_MAX = 0.2
LOG_TAIL_LINES = 20


def ensure_running(place: Place, launch: Callable[[FileLock], None]) -> str:
    """The url of a server that accepts us and has its database. Launches one at most.

    `launch` is given `alive`, held alone, and passes it on to the server.
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
    """Shut the server down, rolling open transactions back, and return when its last process is gone."""
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
    """Try after try with growing pauses; at the limit, the failure."""
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
        alive.hand_over()  # Even after a failure: what was begun may live, and holds the lock until it ends.


def _ping(place: Place) -> Ping:
    if not place.socket.exists():
        return Ping.NO_RESPONSE
    return Ping(PGconn.ping(f"{sockets.url(place, 'sluice')}&connect_timeout=2".encode()))


def _with_database(place: Place) -> str:
    """Connect as users will, and make the database if an earlier start was cut short of it."""
    maintenance = sockets.url(place, "postgres")
    try:
        with psycopg.connect(maintenance, autocommit=True, connect_timeout=10) as connection:
            if not connection.execute("SELECT FROM pg_database WHERE datname = 'sluice'").rowcount:
                connection.execute("CREATE DATABASE sluice")
    except psycopg.OperationalError as refused:
        raise _failure(place, f"answers, but refuses us: {refused}") from refused
    return sockets.url(place, "sluice")


def _signal_stop(place: Place) -> bool:
    """Ask the postmaster for a fast shutdown. False: none answers, so none is addressed."""
    if _ping(place) == Ping.NO_RESPONSE:
        return False
    pid = int((place.data / "postmaster.pid").read_text().split("\n", 1)[0])
    os.kill(pid, signal.SIGINT)
    return True


def _failure(place: Place, what: str) -> EmbeddedUnavailable:
    lines = place.log.read_text(errors="replace").splitlines() if place.log.exists() else []
    knocks = "the database system is starting up"  # Answers to ourselves.
    telling = [line for line in lines if knocks not in line]
    tail = "\n".join(telling[-LOG_TAIL_LINES:]) or "(empty)"
    return EmbeddedUnavailable(
        f"The embedded Postgres in {place.folder} {what}. Try again, or set SLUICE_LEDGER_URL to a database "
        f"of your own. The end of {place.log}:\n{tail}"
    )
