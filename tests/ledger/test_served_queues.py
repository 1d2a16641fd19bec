"""Queues that workers serve, by the ledger's statements, for each kind of queue list."""

from uuid import uuid4

import pytest

from sluice.jobs.model.queues import CONTROL, is_served
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import fleet
from sluice.ledger.recovery import leases
from tests.world import World

KNOWN = [*CONTROL, "a", "b"]


@pytest.mark.parametrize("queues", [[], ["*"], ["planner", "*"], ["a"], ["groomer"]])
def test_the_statements_find_the_same_queues_as_is_served(world: World, queues: list[str]) -> None:
    def join_and_read(tx: Tx) -> list[set[str]]:
        leases.leave(tx, world.worker)
        leases.join(tx, uuid4(), host="here", pid=1, queues=queues, threads=1, lease_s=60.0)
        return [
            {each for each in KNOWN if fleet.count_servers(tx, each)},
            {each for each in KNOWN if fleet.crew(tx, each).workers},
            {*KNOWN} - {*fleet.unserved(tx, KNOWN)},
            {*fleet.servers(tx, KNOWN)},
            fleet.idle_for(tx, KNOWN),
        ]

    expected = {each for each in KNOWN if is_served(each, queues)}
    assert world.ledger.transact(join_and_read) == [expected] * 5
