"""A worker and its database that the network no longer joins: ``python -m tests.ledger.cut_off FOLDER``, in a network
of its own. It ends well where each side gives the other up, and both go on once the network is there again."""

import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from socket import socketpair
from threading import Event

import psycopg

from sluice.jobs.errors import Unreachable
from sluice.ledger.bell import listening
from sluice.ledger.connection import Ledger
from tests.network import carry, ledger_on_it

_LOCK = "SELECT pg_advisory_xact_lock(1)"
#: Longer than it takes anybody to find out, and less than TCP or the database would take by themselves.
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
    """The near one is joined to the database by more than the network."""
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
    """Nobody is kept for longer than the block lasts, however it ends."""
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
