"""Script that cuts the network between a worker and its database: ``python -m tests.ledger.cut_off FOLDER``.

It must run in a network of its own. It succeeds if each side drops the silent connection, and if both work again once
the network is back.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from socket import socketpair
from threading import Event

import psycopg

from sluice.jobs.errors import Unreachable
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.notify import listening
from tests.network import carry, ledger_on_it

_LOCK = "SELECT pg_advisory_xact_lock(1)"
#: Seconds: longer than either side takes to notice, and less than TCP or the database would take by default.
_S_MAX = 90


def main(folder: Path) -> None:
    carry(True)
    with (
        ledger_on_it(folder) as urls,
        closing(Ledger(urls.near, connections=1)) as near,
        closing(Ledger(urls.far, connections=2, idle_s_max=10 * _S_MAX, steady=True)) as far,
    ):
        _part(near, far)
        assert _ask(far) == [1]


def _part(near: Ledger, far: Ledger) -> None:
    """Cut the network, and check that both sides notice it.

    ``near`` uses a socket file, so it still reaches the database, and gets the lock of the lost connection.
    """
    with ThreadPoolExecutor() as others, _leave_to_go() as may_go:
        ready = Event(), Event()
        listens = others.submit(_listen, far.url, ready[0])
        holds = others.submit(_hold, far, ready[1], may_go)
        assert all(each.wait(_S_MAX) for each in ready)
        carry(False)
        asks = others.submit(_ask, far)
        others.submit(_take, near).result(_S_MAX)
        assert isinstance(_end(asks), Unreachable)
        assert isinstance(_end(listens), Unreachable)
        may_go.set()
        assert isinstance(_end(holds), psycopg.OperationalError)


@contextmanager
def _leave_to_go() -> Iterator[Event]:
    """Yield an event for which threads wait. When the block ends in any way, set it and restore the network."""
    may_go = Event()
    try:
        yield may_go
    finally:
        may_go.set()
        carry(True)


def _ask(ledger: Ledger) -> list[int]:
    return ledger.transact(lambda tx: tx.column("SELECT 1"))


def _take(ledger: Ledger) -> None:
    ledger.transact(lambda tx: tx.rows(_LOCK))


def _hold(ledger: Ledger, has_locked: Event, may_go: Event) -> None:
    with ledger.begin() as tx:
        tx.rows(_LOCK)
        has_locked.set()
        may_go.wait()


def _listen(url: str, listens: Event) -> None:
    mine, _yours = socketpair()
    with listening(url) as bell:
        listens.set()
        bell.words(mine)


def _end(waiting: Future[object]) -> BaseException | None:
    return waiting.exception(_S_MAX)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
