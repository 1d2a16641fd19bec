"""The groomer: on every tick it repeats lost notifications and handles everything that has become due.

Each step is a bounded transaction of its own, so that one tick is short even if much has piled up. The rest waits for
the next tick. Breakers come last, each in a transaction of its own (``actors.executor.breakers``).
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from sluice.actors.dispatch import announce, tell
from sluice.actors.executor import breakers
from sluice.broker.messages import Execute, Executed, Message, Plan, Tick, Watch
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.observe.failpoints import TransactionKind
from sluice.jobs.observe.log_context import first_names
from sluice.jobs.states import By
from sluice.jobs.text.units import counted
from sluice.ledger import external_work
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import plan_attempts, submissions
from sluice.ledger.limits import pools, rate_limits
from sluice.ledger.notifications import lateness
from sluice.ledger.reads import fleet
from sluice.ledger.recovery import groomer_steps, leases
from sluice.ledger.recovery.groomer_steps import IDLE_PATIENCE_S, PATIENCE_S, Chore
from sluice.ledger.recovery.leases import LostWorker
from sluice.ledger.sagas import events, suspension
from sluice.ledger.stats import event_counters
from sluice.ledger.stats.event_counters import CounterName

_LOG = logging.getLogger("sluice.groomer")
#: Function that returns how many messages wait in the queues of apps. Apps whose queue is unknown are missing.
Depths = Callable[[Collection[str]], Mapping[str, int]]
_Step = Callable[[Tx], Sequence[Message]]

#: Maximum number of rows that one step handles in one tick.
LIMIT = 1000
#: Polls of one app that one thread makes in sequence. Each asks a system that may be slow to answer.
LOOKS_TOGETHER = 10


def tick(
    ledger: Ledger, catalogue: Catalogue, message: Tick, *, depths: Depths = lambda _: {}
) -> Sequence[Message]:
    """Do what is due. ``depths`` returns how many messages wait in the queues of these apps, as far as it knows."""
    due = ledger.run_alone(groomer_steps.due)
    late = None
    if Chore.ANNOUNCE_READY in due and not message.backlogs:
        late = _late_without_messages(ledger, catalogue, depths)
        due = due if late else due - {Chore.ANNOUNCE_READY}
    if message.backlogs:
        due = due | {Chore.SETTLE}
    messages: list[Message] = []
    lost: list[LostWorker] = []
    for chore, step in _steps(message, catalogue, late, lost).items():
        # Jobs that an earlier step leaves waiting (retries of lost and late jobs, resumed sagas) are released in the
        # same tick.
        if chore in due or (chore is Chore.MAKE_READY and due & _FREEING):
            found = ledger.transact(step, TransactionKind.GROOM)
            is_of_backlogs = chore is Chore.ANNOUNCE_READY and message.backlogs
            messages += _missing(ledger, found, depths) if is_of_backlogs else found
    for worker in lost:
        _LOG.warning("%s", _told(worker))
    if Chore.EVALUATE_BREAKERS in due:
        messages += breakers.tick(ledger, catalogue)
    return messages


def _late_without_messages(ledger: Ledger, catalogue: Catalogue, depths: Depths) -> list[str]:
    """Return the apps with late ready jobs, but without a message in their queue, as far as is known.

    The other apps with late jobs have a backlog. If their jobs were announced again, each tick would write to a
    thousand jobs, for notifications that most likely wait in the queue.
    """
    late = ledger.transact(lambda tx: groomer_steps.late_apps(tx, [*catalogue], patience_s=PATIENCE_S))
    waiting = depths(late) if late else {}
    return [app for app in late if not waiting.get(app)]


def _missing(ledger: Ledger, announced: Sequence[Message], depths: Depths) -> list[Message]:
    """Return the announcements that are missing in the queues, at most one for each ready job without a message there.

    Most jobs of a backlog are due for another announcement although their first one still waits. If it was sent again,
    the queues would grow longer than the backlog. A message is for any ready job of its app, so it replaces a lost one.
    """
    apps = {message.app for message in announced if isinstance(message, Execute)}
    waiting = depths(apps) if apps else {}
    if not waiting:
        return [*announced]
    most = max(waiting.values()) + LIMIT
    ready = ledger.transact(lambda tx: groomer_steps.ready_counts(tx, [*waiting], most))
    room = {app: ready[app] - many for app, many in waiting.items()}
    missing: list[Message] = []
    for message in announced:
        if isinstance(message, Execute) and message.app in room:
            if room[message.app] <= 0:
                continue
            room[message.app] -= 1
        missing.append(message)
    return missing


def _steps(
    message: Tick, catalogue: Catalogue, late: Collection[str] | None, lost: list[LostWorker]
) -> Mapping[Chore, _Step]:
    """Return the steps of a tick in their order. ``late`` are the apps whose late jobs are announced again; None means
    all. ``TAKE_LOST`` sets ``lost`` to the workers that it finds lost."""
    return {
        Chore.EXPIRE: _ending(groomer_steps.expire),
        Chore.TIME_OUT: _ending(groomer_steps.time_out),
        Chore.TAKE_LOST: partial(_take_lost, lost),
        Chore.DELIVER_EVENTS: _deliver_events,
        Chore.RESUME_LATE: _resume_late,
        Chore.PROPAGATE: _propagate,
        Chore.PLAN: _plan,
        Chore.MAKE_READY: _make_ready,
        Chore.UPDATE_RATE_LIMITS: partial(_update_rate_limits, catalogue=catalogue),
        Chore.ADMIT: admit,
        Chore.ANNOUNCE_READY: partial(_announce_ready, apps=late),
        Chore.ANNOUNCE_IDLE: partial(_announce_idle, apps=[*catalogue]),
        Chore.ANNOUNCE_EXECUTED: _announce_executed,
        Chore.POLL: _poll,
        Chore.SETTLE: partial(_settle, all_active=message.backlogs),
        Chore.FORGET_ATTEMPTS: _forget_attempts,
        Chore.MARK_LATE: _mark_late,
    }


def _ending(step: Callable[[Tx, int], list[int]]) -> _Step:
    """Return a step that ends jobs and has their children notified. Other jobs of their pools may then run."""

    def work(tx: Tx) -> Sequence[Message]:
        ended = step(tx, LIMIT)
        return [*tell(ended), *announce(tx, [], By.GROOMER)]

    return work


def _take_lost(lost: list[LostWorker], tx: Tx) -> Sequence[Message]:
    """Take back the jobs of lost workers, and set ``lost`` to these workers."""
    taken = groomer_steps.take_lost(tx, LIMIT)
    lost[:] = leases.lost(tx, taken.requeued, taken.ended)
    return [*tell(taken.ended), *announce(tx, [], By.GROOMER)]


def _told(worker: LostWorker) -> str:
    taken = f"{counted(worker.jobs, 'job')} {'was' if worker.jobs == 1 else 'were'} taken back"
    failed = f"; {worker.failed} failed, lost too often" if worker.failed else ""
    names = first_names(worker.names, worker.jobs)
    return f"the worker {worker.pid} on {worker.host} is lost, its lease ended: {taken}{failed}: {names}"


def _propagate(tx: Tx) -> Sequence[Message]:
    owed = groomer_steps.overdue_propagations(tx, LIMIT)
    _count(tx, Chore.PROPAGATE, len(owed))
    return [*tell(owed), *announce(tx, [], By.GROOMER)]


def _plan(tx: Tx) -> Sequence[Message]:
    received = groomer_steps.overdue_submissions(tx, LIMIT)
    _count(tx, Chore.PLAN, len(received))
    return [Plan(submissions=tuple(received))] if received else []


def _deliver_events(tx: Tx) -> Sequence[Message]:
    events.deliver_early(tx, LIMIT)
    return []


def _resume_late(tx: Tx) -> Sequence[Message]:
    suspension.resume_late(tx, LIMIT)
    return []


def _make_ready(tx: Tx) -> Sequence[Message]:
    return announce(tx, groomer_steps.make_due_ready(tx, LIMIT), By.GROOMER)


def _update_rate_limits(tx: Tx, catalogue: Catalogue) -> Sequence[Message]:
    """Update the rate limits in the ledger to their definitions, and admit the jobs that may start by that. Remove
    starts that no longer count.

    A limit of an app that these definitions do not have is left as it is, because another process may have the app.
    """
    changed = False
    for app, stated in rate_limits.terms(tx).items():
        if (defined := catalogue.get(app)) and stated != rate_limits.RateTerms.of(defined.rate_limit):
            rate_limits.update(tx, app, defined.rate_limit)
            changed = True
    rate_limits.forget(tx, LIMIT)
    return admit(tx) if changed else []


def admit(tx: Tx) -> Sequence[Message]:
    """Admit jobs to pools with free slots, and with tokens if their app has a rate limit."""
    pools.find_free(tx, LIMIT)
    return announce(tx, [], By.GROOMER)


def _announce_ready(tx: Tx, apps: Collection[str] | None) -> Sequence[Message]:
    """Announce late jobs of these apps again; None means all apps. Only jobs of apps with an idle worker count as
    repaired.

    The other jobs wait for a worker, or for their app to be resumed. Their notifications may still be in the queue.
    """
    ready = groomer_steps.announce_ready(tx, LIMIT, apps=apps)
    idle = fleet.idle_for(tx, {job.app for job in ready})
    _count(tx, Chore.ANNOUNCE_READY, sum(job.app in idle for job in ready))
    return announce(tx, ready, By.GROOMER)


def _announce_idle(tx: Tx, apps: Sequence[str]) -> Sequence[Message]:
    """Announce jobs again that a worker would have claimed if their notification had not been lost.

    These are all jobs of apps with an idle worker, and the first job of each app that rests while a worker has room.
    """
    late = groomer_steps.late_apps(tx, apps, patience_s=IDLE_PATIENCE_S)
    idle = fleet.idle_for(tx, late)
    ready = groomer_steps.announce_idle(tx, LIMIT, idle) if idle else []
    resting = fleet.resting(tx, set(late) - idle)
    ready += groomer_steps.announce_first(tx, resting) if resting else []
    _count(tx, Chore.ANNOUNCE_READY, len(ready))
    return announce(tx, ready, By.GROOMER)


def _announce_executed(tx: Tx) -> Sequence[Message]:
    executed = groomer_steps.announce_executed(tx, LIMIT)
    _count(tx, Chore.ANNOUNCE_EXECUTED, len(executed))
    return [Executed(jobs=tuple(executed))] if executed else []


def _poll(tx: Tx) -> Sequence[Message]:
    due = external_work.take_due(tx, LIMIT)
    return [
        Watch(app=app, jobs=tuple(jobs[place : place + LOOKS_TOGETHER]))
        for app, jobs in due.items()
        for place in range(0, len(jobs), LOOKS_TOGETHER)
    ]


def _settle(tx: Tx, *, all_active: bool) -> Sequence[Message]:
    _count(tx, Chore.SETTLE, submissions.settle_missed(tx, LIMIT, all_active=all_active))
    return []


def _mark_late(tx: Tx) -> Sequence[Message]:
    lateness.mark_late(tx, LIMIT)
    return []


def _forget_attempts(tx: Tx) -> Sequence[Message]:
    plan_attempts.forget_settled(tx, LIMIT)
    return []


def _count(tx: Tx, chore: Chore, many: int) -> None:
    """Count the work of a chore that a message should have caused. The history already shows which jobs the chore
    moves."""
    event_counters.add(tx, {(CounterName.REPAIRED, chore): many})


_FREEING = {Chore.EXPIRE, Chore.TIME_OUT, Chore.TAKE_LOST, Chore.DELIVER_EVENTS, Chore.RESUME_LATE}
