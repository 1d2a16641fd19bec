"""A lease that cannot be renewed: its runs end in time, and it is tried again."""

from collections.abc import Iterator
from contextlib import closing
from threading import Event
from uuid import uuid4

import psycopg
import pytest
from psycopg.errors import DeadlockDetected

from actors.holdings import Holdings
from actors.lifeline import Lifeline
from actors.meter import Meter
from jobs.catalogue.known import KnownDefinitions
from jobs.errors import BadSetting, Unreachable
from tests.actors.ledgers import Refusing
from tests.jobs.runners.runner_bench import eventually
from tests.world import World

#: By real clocks: that of the process is what is tested.
LEASE_S = 0.3
ERRORS = [
    Unreachable("The ledger does not answer."),
    BadSetting("This role may not do it."),
    DeadlockDetected("once more"),
]


class Life:
    """A process that holds a claim on one job, and can be told to stop its run."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.apps("a")
        world.submit("a")
        self.holdings = Holdings()
        self.id = uuid4()
        self.ledger = Refusing(world)
        self.known = KnownDefinitions(apps={"a": "first"})
        self.line = Lifeline(
            self.ledger,
            self.holdings,
            self.id,
            queues=[],
            threads=1,
            code=None,
            lease_s=LEASE_S,
            give_back=lambda _: None,
            known=lambda: self.known,
            meter=Meter(self.ledger, {}),
        )

    def claims(self) -> Event:
        """By what its run is told to stop."""
        claimed = self._world.claim("a", worker=self.id)
        assert claimed is not None
        return self.holdings.take([claimed.right])[claimed.right]

    def lease_left_s(self) -> float:
        with psycopg.connect(self._world.url) as connection:
            row = connection.execute(
                "SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM worker WHERE id = %s",
                (self.id,),
            ).fetchone()
        assert row is not None
        return float(row[0])


@pytest.fixture
def life(world: World) -> Iterator[Life]:
    made = Life(world)
    with closing(made.ledger):
        yield made


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_whatever_keeps_the_lease_from_being_renewed_its_runs_end_before_it_and_it_is_tried_again(
    life: Life, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    life.line.start()
    stop = life.claims()
    life.ledger.refuse(error)
    assert stop.wait(20), "its claim is about to be somebody else's"
    eventually(lambda: life.lease_left_s() < 0)
    life.ledger.relent()
    eventually(lambda: life.lease_left_s() > 0)
    life.line.end()
    assert life.lease_left_s() <= 0, "it has left"
    told = [record for record in caplog.records if record.name == "sluice.worker"]
    if not isinstance(error, Unreachable):
        assert [record.getMessage() for record in told] == [f"a beat came to nothing: {error}"]
        assert told[0].exc_info


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_who_cannot_say_that_he_leaves_leaves_all_the_same(
    life: Life, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    life.line.start()
    life.ledger.refuse(error)
    life.line.end()
    assert "the lease ends by itself" in caplog.text


def test_changed_definitions_reach_the_ledger_with_the_next_heartbeat(world: World) -> None:
    life = Life(world)
    life.line.start()
    try:
        assert _recorded(world) == life.known.digest
        life.known = KnownDefinitions(apps={"a": "second"})
        eventually(lambda: _recorded(world) == life.known.digest)
    finally:
        life.line.end()


def _recorded(world: World) -> str | None:
    with psycopg.connect(world.url) as connection:
        row = connection.execute("SELECT catalogue FROM worker WHERE catalogue IS NOT NULL").fetchone()
    return row[0] if row else None
