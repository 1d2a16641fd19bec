"""A saga that has begun, acts on it, and races of two of these acts."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from sluice.actors.executor import transactions
from sluice.actors.groomer import ticks
from sluice.actors.planner import handlers
from sluice.broker.messages import Cancel, Executed, Message, Submit, Tick
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.sagas.journal import Log
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.sagas import abortion
from tests.ledger import races
from tests.ledger.flights import Sagas, awaits, did
from tests.ledger.races import world_for_a_race
from tests.world import taken_in

#: Maximum number of statements of a handler here.
STATEMENTS_MAX = 60

Act = Callable[[Ledger], Any]


class Meeting:
    """Saga that is claimed and has done its first step."""

    def __init__(self, url: str) -> None:
        self.world = world_for_a_race(url)
        self.world.apps("a", max_fails=1)
        self.submission = self.world.submit("a")
        self.sagas = Sagas(self.world)
        self.claimed = self.sagas.claim()
        assert self.sagas.write(self.claimed, did(1)).stands

    def awaits(self) -> None:
        """Record that its second step is done and that the third has to wait."""
        self.sagas.write(self.claimed, awaits(2, "approved", 60))

    def waits(self) -> None:
        self.awaits()
        self.suspends()(self.world.ledger)

    def suspends(self) -> Act:
        outcome = Outcome(ending=Ending.SUSPENDED, event="approved", waits_s=60.0)
        return self._records(outcome)

    def ends(self, ending: Ending) -> Act:
        return self._records(Outcome(ending=ending))

    def _records(self, outcome: Outcome) -> Act:
        right = self.claimed.right
        return lambda ledger: transactions.record(ledger, {right: outcome})[1]

    def writes(self) -> Act:
        return lambda ledger: self.sagas.write(self.claimed, did(2), ledger)

    def hears(self, token: str | None = None) -> Act:
        return lambda ledger: self.sagas.say("approved", token=token, ledger=ledger)

    def cancelled(self) -> Act:
        return self._handled(handlers.cancel, Cancel(submission=self.submission))

    def wanted(self, **words: Any) -> Act:
        request = msgspec.Raw(msgspec.json.encode({"app": "a", "key": "1", **words}))
        return self._handled(taken_in, Submit(id="anew", submission=request))

    def judged(self) -> Act:
        return self._handled(handlers.executed, Executed(jobs=(self.claimed.id,)))

    def groomed(self) -> Act:
        return self._handled(ticks.tick, Tick())

    def taken_over(self) -> Act:
        """Return an act: the groomer ends the expired lease, then another worker takes over and reads the journal."""

        def act(ledger: Ledger) -> Log | None:
            self.groomed()(ledger)
            return self.sagas.read(self.sagas.claim(ledger=ledger), ledger)

        return act

    def forced(self) -> Act:
        return lambda ledger: ledger.transact(lambda tx: abortion.force_done(tx, JobName("a", "1"), "ann"))

    def _handled(self, handle: Callable[..., Sequence[Message]], message: Message) -> Act:
        return lambda ledger: list(handle(ledger, self.world.catalogue, message))

    def passes(self, seconds: float) -> None:
        self.world.now += timedelta(seconds=seconds)

    @property
    def state(self) -> State:
        return self.world.state("a")

    @property
    def abort_reason(self) -> str | None:
        why: str | None = self.world.field("a", "abort_reason")
        return why

    def taken_up(self) -> ClaimedJob:
        """Run the groomer, which may resume or release the saga, then claim it for another worker."""
        self.world.tick()
        return self.sagas.claim()


Arrange = Callable[[Meeting], tuple[Act, Act]]
Check = Callable[[Meeting, Any, Any], None]


def meet(url: str, arrange: Arrange, check: Check, *, swapped: bool) -> None:
    """Race two acts on a saga, as ``races.meet`` does."""
    races.meet(lambda: Meeting(url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)
