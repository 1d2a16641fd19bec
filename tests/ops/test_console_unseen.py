"""Streams while the ledger cannot be read: they report since when, and when it can be read again."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from sluice.ledger.database import connection
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ops.console import streams as streams_module
from sluice.ops.console.streams import Streams, WatchedObject
from sluice.ops.observe.overview.page import overview
from tests.broker.proxy import Proxy
from tests.ops.typist import NO_LEDGER
from tests.world import World


def events(streams: Streams) -> Iterator[tuple[str, Any]]:
    """Yield the events of a stream of the overview, each with its name."""
    for piece in streams.tell([WatchedObject("overview")]):
        for text in piece.decode().split("\n\n"):
            name, _, data = text.partition("\ndata: ")
            if data:
                yield name.removeprefix("event: "), msgspec.json.decode(data)


def of_ledger(told: Iterator[tuple[str, Any]]) -> datetime | None:
    """Return the content of the next event about the ledger: the time since which it cannot be read, or None."""
    since = next(data for name, data in told if name == "ledger")["unseen_since"]
    return since and datetime.fromisoformat(since)


def test_failed_reads_and_the_next_successful_one_are_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE_S", 0.1)
    with closing(Ledger(NO_LEDGER)) as away:
        ledgers = [world.ledger]

        def ask(question: Callable[[Tx], Any]) -> Any:
            return ledgers[-1].transact(question)

        streams = Streams(ask, lambda tx: overview(tx, []))
        with closing(streams):
            before = datetime.now(UTC)
            told = events(streams)
            assert next(told)[0] == "overview"
            ledgers.append(away)
            since = of_ledger(told)
            assert since is not None
            assert before <= since <= datetime.now(UTC)
            # A new stream gets the last overview, and at once the event about the ledger.
            late = events(streams)
            assert (next(late)[0], of_ledger(late)) == ("overview", since)
            ledgers.append(world.ledger)
            assert of_ledger(told) is None


def test_a_read_that_does_not_end_is_sent_as_a_failure(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "LOOK_S_MAX", 0.2)
    wire = Proxy(world.url, default_port=5432)
    try:
        with closing(Ledger(wire.url)) as ledger:
            streams = Streams(ledger.transact, lambda tx: overview(tx, []), outages=lambda: ledger.outages)
            with closing(streams):
                told = events(streams)
                assert next(told)[0] == "overview"
                wire.freeze()
                assert of_ledger(told) is not None
                assert ledger.outages.is_open
                wire.heal()
                assert of_ledger(told) is None
                assert not ledger.outages.is_open
    finally:
        wire.close()


def test_while_all_reads_succeed_no_event_about_the_ledger_is_sent(world: World) -> None:
    streams = Streams(world.ledger.transact, lambda tx: overview(tx, []))
    with closing(streams):
        pieces = streams.tell([WatchedObject("overview")])
        told = b"".join(next(pieces) for _ in range(4))
    assert b"event: overview" in told
    assert b"event: ledger" not in told
