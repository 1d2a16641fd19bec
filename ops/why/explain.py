"""The whole answer."""

from jobs.ref import JobName
from jobs.states import TERMINAL
from ledger.reads.obstacles import Obstacles, Unplanned
from ops.why import ended, living
from ops.why.answer import Answer, WaitsFor, remedy


def explain(name: JobName, facts: Obstacles) -> Answer:
    """Why this job is where it is. One that the ledger has never heard of gets an answer too."""
    job = facts.job
    if job is None:
        return _unknown(name, facts)
    because, waits_for, remedies = (ended if job.state in TERMINAL else living).reason(job, facts)
    unplanned = [_unplanned(each) for each in facts.unplanned if each.asks_for_it]
    return Answer(
        app=job.app,
        key=job.key,
        state=job.state,
        because=f"{job.name} {because}",
        since=job.changed_at,
        waits_for=(*waits_for, *unplanned),
        remedies=tuple(remedies),
    )


def _unknown(name: JobName, facts: Obstacles) -> Answer:
    """What a submission comes to is known when it is planned; until then any of the app's may want it."""
    surely = [each for each in facts.unplanned if each.asks_for_it]
    possible = surely or facts.unplanned
    if surely:
        because = "the submission that asks for it is not planned yet"
    elif possible:
        because = "nobody has asked for it, unless it is in a submission that is not planned yet"
    else:
        because = "nobody has asked for it"
    ask = [remedy("submit", name, "asks for it")]
    return Answer(
        app=name.app,
        key=name.key,
        state=None,
        because=f"The ledger has no job {name}: {because}",
        waits_for=tuple(_unplanned(each) for each in possible),
        remedies=tuple(living.about_planners(facts) if possible else ask),
    )


def _unplanned(each: Unplanned) -> WaitsFor:
    return WaitsFor(kind="submission", what=f"submission {each.id} to be planned", since=each.received_at)
