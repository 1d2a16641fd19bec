"""Outages of a database that is cut off or accepts no more connections: when the log names their start and end."""

import logging
from collections.abc import Iterator
from contextlib import closing

import pytest

from sluice.jobs.errors import Unreachable
from sluice.ledger.database import connection
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.connection_pool import ConnectionLimits
from tests.broker.proxy import Proxy
from tests.world import World

PING = "SELECT 1"


class Line:
    """Ledger behind a proxy, and the lines about its outages."""

    def __init__(self, wire: Proxy, ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
        self.wire = wire
        self.ledger = ledger
        self._caplog = caplog

    def ping(self) -> None:
        assert self.ledger.transact(lambda tx: tx.column(PING)) == [1]

    def levels(self) -> list[int]:
        return [record.levelno for record in self._caplog.records if record.name == "sluice.outages"]


@pytest.fixture
def line(world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Line]:
    monkeypatch.setattr(connection, "PATIENCE_S", 0.3)
    caplog.set_level(logging.INFO, "sluice.outages")
    with closing(Proxy(world.url, default_port=5432)) as wire:
        limits = ConnectionLimits(usual=1, most=2)
        with closing(Ledger(wire.url, connections=limits)) as ledger:
            yield Line(wire, ledger, caplog)


def test_an_outage_lasts_from_the_first_failed_connection_to_the_next_answer(line: Line) -> None:
    line.ping()
    assert line.levels() == []
    line.wire.unplug()
    for _ in range(3):
        with pytest.raises(Unreachable):
            line.ping()
    assert line.levels() == [logging.WARNING]
    line.wire.plug()
    line.ping()
    assert line.levels() == [logging.WARNING, logging.INFO]


def test_a_lost_connection_that_can_be_made_again_is_no_outage(line: Line) -> None:
    line.ping()
    line.wire.cut()
    line.ping()
    assert line.levels() == []


def test_answers_on_older_connections_do_not_end_an_outage_while_no_new_one_can_be_made(line: Line) -> None:
    line.ping()
    line.wire.refuse()
    with line.ledger.begin(), pytest.raises(Unreachable):
        line.ping()
    line.ping()
    assert line.levels() == [logging.WARNING]
    line.wire.plug()
    with line.ledger.begin():
        line.ping()
    assert line.levels() == [logging.WARNING, logging.INFO]
