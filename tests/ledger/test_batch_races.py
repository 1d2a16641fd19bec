"""Races of a transaction that ends several jobs, each in another way, with one that locks them in the order of ids.

A plan locks its existing jobs like that.
"""

import pytest

from sluice.actors.executor import transactions
from sluice.broker.messages import Message
from sluice.jobs.model.job import Ending, Outcome
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import plans
from tests.ledger.races import Act, Acts, finish_all_jobs, meet_and_finish

#: Upper limit of the number of statements of the acts in these races.
STATEMENTS_MAX = 30


class Batch(Acts):
    """World in which three jobs of one app run. The first one has a deadline, so it needs a judgement."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.apps("a", max_fails=3)
        self.world.submit("a", "1", policy={"end_before": "2027-01-01T00:00:00Z"})
        self.world.submit("a", "2")
        self.world.submit("a", "3")
        taken = [self.world.take(f"a/{key}") for key in "123"]
        self.running = sorted(taken, key=lambda claimed: claimed.id)

    def settle(self, *endings: Ending) -> Act:
        """End the three jobs in one transaction."""
        outcomes = {
            claimed.right: Outcome(ending=ending)
            for claimed, ending in zip(self.running, endings, strict=True)
        }

        def act(ledger: Ledger) -> list[Message]:
            return [*transactions.settle(ledger, self.world.catalogue, outcomes).messages]

        return act

    def lock(self) -> Act:
        """Lock the three jobs as a plan does."""
        jobs = [claimed.id for claimed in self.running]

        def act(ledger: Ledger) -> list[Message]:
            ledger.transact(lambda tx: tx.rows(plans._HOLD, jobs=jobs))
            return []

        return act


@pytest.mark.parametrize(
    "endings",
    [
        (Ending.ERROR, Ending.DONE, Ending.DONE),
        (Ending.DONE, Ending.DONE, Ending.DONE),
        (Ending.DONE, Ending.HANDED_BACK, Ending.ERROR),
        (Ending.HANDED_BACK, Ending.ERROR, Ending.VERSION_UNAVAILABLE),
    ],
    ids=lambda endings: "-".join(ending.name.lower() for ending in endings),
)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_ends_of_several_kinds_lock_their_jobs_in_order(
    embedded_url: str, endings: tuple[Ending, ...], swapped: bool
) -> None:
    meet_and_finish(
        lambda: Batch(embedded_url),
        lambda m: (m.settle(*endings), m.lock()),
        lambda m: finish_all_jobs(m.world),
        swapped=swapped,
        most=STATEMENTS_MAX,
    )
