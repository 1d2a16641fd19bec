"""Races of two verbs in a small world of four jobs, and the rules that hold wherever one is stopped."""

from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec

from sluice.actors.executor import transactions
from sluice.actors.executor.transactions import Capacity
from sluice.actors.groomer import ticks
from sluice.actors.planner import handlers
from sluice.broker.messages import Cancel, Execute, Executed, JobRound, Message, Submit, Tick
from sluice.jobs.model.job import Ending, Outcome
from sluice.ledger.database.connection import Ledger
from tests.ledger.races import at_each_statement, check_rules, finish_all_jobs, is_new, race, world_for_a_race
from tests.world import LEASE_S, taken_in

#: Maximum number of statements of a handler here.
STATEMENTS_MAX = 60


class Verb(StrEnum):
    """Operation that moves jobs. A retry is a plan that runs ended jobs again.

    Settling records outcomes, propagates them to the children and claims jobs, in one transaction.
    """

    PLAN = "plan"
    CLAIM = "claim"
    RECORD = "record"
    JUDGE = "judge"
    CANCEL = "cancel"
    GROOM = "groom"
    RETRY = "retry"
    SETTLE = "settle"


class Act(NamedTuple):
    """Verb that is ready to run."""

    verb: Verb
    do: Callable[[Ledger], list[Message]]


class Meeting:
    """World in which ``a`` is executed and not judged, and ``b`` runs. ``c`` needs both, and exists if ``planned``."""

    def __init__(self, url: str, *, planned: bool) -> None:
        self.world = world_for_a_race(url)
        self.world.apps("a -> c, b -> c, c -> d", max_fails=1)
        self.submission = self.world.submit("c") if planned else self.world.submit("a", push="wanted")
        if not planned:
            self.world.submit("b", push="wanted")
        self.claims = {}
        for name in "ab":
            claimed = self.world.claim(name)
            assert claimed is not None
            self.claims[name] = claimed
            if name == "a":
                transactions.record(self.world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})

    def judge(self, name: str) -> Act:
        job = self.world.known(name).id
        message = Executed(jobs=(job,))
        return Act(Verb.JUDGE, lambda ledger: list(handlers.executed(ledger, self.world.catalogue, message)))

    def plan(self, app: str, **words: object) -> Act:
        raw = msgspec.Raw(msgspec.json.encode({"app": app, "key": "1", **words}))
        verb = Verb.RETRY if "rerun" in words else Verb.PLAN
        message = Submit(id=f"{verb}-{app}-{words.get('rerun')}", submission=raw)
        return Act(verb, lambda ledger: taken_in(ledger, self.world.catalogue, message))

    def plan_and_claim(self, app: str, key: str) -> Act:
        """Plan a job as a process that claims up to two of the ready jobs of its app."""
        raw = msgspec.Raw(msgspec.json.encode({"app": app, "key": key, "push": "wanted"}))
        message = Submit(id=f"{app}-{key}", submission=raw)
        capacity = Capacity(self.world.worker, lambda _: True, lambda _: 2)

        def plan(ledger: Ledger) -> list[Message]:
            sent: list[Message] = []
            for planning in handlers.admit_one(ledger, self.world.catalogue, message).plans:
                planned = handlers.plan_and_claim(ledger, self.world.catalogue, planning, capacity=capacity)
                self.claims |= {str(claimed.name): claimed for claimed in planned.taken}
                sent += planned.messages
            return sent

        return Act(Verb.PLAN, plan)

    def retry(self, app: str, rerun: str = "downstream") -> Act:
        return self.plan(app, rerun=rerun)

    def cancel(self) -> Act:
        message = Cancel(submission=self.submission)
        return Act(Verb.CANCEL, lambda ledger: list(handlers.cancel(ledger, self.world.catalogue, message)))

    def groom(self) -> Act:
        return Act(Verb.GROOM, lambda ledger: list(ticks.tick(ledger, self.world.catalogue, Tick())))

    def record(self, name: str, ending: Ending = Ending.DONE) -> Act:
        outcome = {self.claims[name].right: Outcome(ending=ending)}
        return Act(Verb.RECORD, lambda ledger: list(transactions.record(ledger, outcome)[0]))

    def settle(self, *names: str) -> Act:
        """Settle runs as a worker that would claim up to two of the jobs that become ready."""
        outcomes = {self.claims[name].right: Outcome(ending=Ending.DONE) for name in names}
        capacity = Capacity(self.world.worker, lambda _: True, lambda _: 2)

        def settle(ledger: Ledger) -> list[Message]:
            settled = transactions.settle(ledger, self.world.catalogue, outcomes, capacity)
            self.claims |= {claimed.app: claimed for claimed in settled.taken}
            return list(settled.messages)

        return Act(Verb.SETTLE, settle)

    def claim_again(self, name: str) -> Act:
        known = self.world.known(name)
        message = Execute(app=known.app, jobs=(JobRound(known.id, self.world.round(name)),))

        def claim(ledger: Ledger) -> list[Message]:
            return list(transactions.claim(ledger, self.world.catalogue, message, self.world.worker)[1])

        return Act(Verb.CLAIM, claim)

    def hand_back(self, name: str) -> None:
        """Hand a job back, so that it is ready again and has no claim."""
        self.record(name, Ending.HANDED_BACK).do(self.world.ledger)

    def go_unheard(self) -> None:
        """Let a minute pass with the lease renewed, so that the groomer repeats all notifications."""
        self.world.now += timedelta(minutes=1)
        self.world.beat(self.world.worker, [claimed.right for claimed in self.claims.values()])

    def lose_the_lease(self) -> None:
        self.world.tick(after_s=0)
        self.world.now = self.world.now.replace(second=int(LEASE_S) + 1)


def finish(meeting: Meeting) -> None:
    """Run jobs until every requested job has ended. Jobs that are only expected may stay."""
    world = meeting.world
    for claimed in meeting.claims.values():
        world.record(claimed)
    world.worker = world.hire()
    finish_all_jobs(world)


#: Function that prepares a meeting and returns its two acts.
Pair = Callable[[Meeting], tuple[Act, Act]]


def meet_at_each_statement(
    url: str, pair: Pair, verbs: tuple[Verb, Verb], *, planned: bool, swapped: bool
) -> None:

    seen: set[object] = set()

    def meet_at(stop_before: int) -> bool:
        meeting = Meeting(url, planned=planned)
        world = meeting.world
        acts = pair(meeting)
        assert sorted(act.verb for act in acts) == sorted(verbs)
        first, second = reversed(acts) if swapped else acts
        stopped, one, two = race(url, lambda: world.now, first.do, second.do, stop_before)
        check_rules(world, f"stopped before statement {stop_before}")
        if is_new(seen, world, one, two):
            world.queue.extend([*(one or []), *(two or [])])
            world.deliver()
            finish(meeting)
            check_rules(world, f"at the end, stopped before statement {stop_before}")
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)
