"""Rules about the claims of each job: one outcome each, no overlap, and work only under an existing claim."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from sluice.jobs.states import CLAIM, RECORD, SUCCEED, SUSPEND, State
from tests.chaos.history import Effect, History
from tests.chaos.rows import Job, Transition


def claims_have_one_outcome_each(history: History) -> Iterator[str]:
    """Check that each claim in a job's history has a round, and each round a claim.

    At most one step ends a claim.
    """
    for job in history.rows.jobs:
        if job.is_pruned:
            continue
        steps = history.steps_of.get(job.id, [])
        claimed = {step.claim for step in steps if step.verb == CLAIM.name}
        rounds = {each.claim for each in history.rounds_of.get(job.id, [])}
        yield from (f"claim {claim} of {job.name} has no round" for claim in sorted(claimed - rounds))
        yield from (f"round {claim} of {job.name} has no claim" for claim in sorted(rounds - claimed))
        left = Counter(step.claim for step in steps if step.source == State.RUNNING)
        for claim, times in left.items():
            if times > 1:
                yield f"claim {claim} of {job.name} has {times} outcomes"


def claims_do_not_overlap(history: History) -> Iterator[str]:
    """Check by the ledger's clock that each claim begins after the one before it has ended."""
    for job, rounds in history.rounds_of.items():
        for first, second in pairwise(rounds):
            if first.executed_at is None or second.running_at < first.executed_at:
                yield f"{history.name(job)}: claim {second.claim} begins before claim {first.claim} has ended"


def work_is_done_under_a_claim(history: History) -> Iterator[str]:
    """Check that each effect has a claim of its job, and is not earlier than that claim."""
    for effect in history.effects:
        job, round_ = history.jobs.get(effect.job), history.rounds.get((effect.job, effect.claim))
        if job is None or round_ is None or job.name != effect.name:
            yield f"{effect.name} ran as job {effect.job} under claim {effect.claim}, which never existed"
        elif history.epoch_s(effect) < round_.running_at - history.tolerance_s:
            early_s = round_.running_at - history.epoch_s(effect)
            yield f"{effect.name} ran {early_s:.3f} s before its claim {effect.claim}"


def a_claim_begins_its_job_once(history: History) -> Iterator[str]:
    """Check that a claim begins its job once. Steps of sagas may be tried again under the same claim."""
    begun = Counter((e.job, e.claim) for e in history.effects if e.event == "start" and e.step is None)
    for (job, claim), times in begun.items():
        if times > 1:
            yield f"{history.name(job)} was begun {times} times under claim {claim}"


def ends_follow_starts(history: History) -> Iterator[str]:
    """Check that each end has a beginning under the same claim.

    It may come from another process: a command has one for each line.
    """
    begun: set[tuple[int, int, str | None]] = set()
    for effect in history.effects:
        run = (effect.job, effect.claim, effect.step)
        if effect.event == "start":
            begun.add(run)
        elif effect.event == "end" and run not in begun:
            yield f"{effect.name} ended under claim {effect.claim} without having begun"


def succeeded_jobs_were_done(history: History) -> Iterator[str]:
    """Check that each success was done under the claim that succeeded, and before its outcome was accepted.

    A job that fills partitions may find that an earlier claim had made them all. Sagas have a rule of their own.
    """
    ended = {(effect.job, effect.claim): effect for effect in history.effects if effect.event == "end"}
    begun = {(effect.job, effect.claim) for effect in history.effects if effect.event == "start"}
    for step in history.rows.transitions:
        job = history.jobs.get(step.job)
        if step.verb != SUCCEED.name or job is None or job.id in history.flown:
            continue
        done, told = ended.get((step.job, step.claim)), f"{job.name} has succeeded by claim {step.claim},"
        if done is not None:
            late_s = history.epoch_s(done) - _taken_at(history, step)
            if late_s > history.tolerance_s:
                yield f"{told} which was done {late_s:.3f} s later"
        elif job.app in history.leaves_effects and not _was_done_before(job, step, begun):
            yield f"{told} under which it was not done"


def _taken_at(history: History, step: Transition) -> float:
    """Return when the ledger accepted the outcome of the claim. It may have judged it later."""
    round_ = history.rounds.get((step.job, step.claim))
    return min(step.at, round_.executed_at) if round_ and round_.executed_at else step.at


def _was_done_before(job: Job, step: Transition, begun: set[tuple[int, int]]) -> bool:
    return job.output_table is not None and any((step.job, claim) in begun for claim in range(1, step.claim))


def only_lost_claims_are_overtaken(history: History) -> Iterator[str]:
    """Check that a run overlaps the next one only if its claim was lost before.

    Lost means that the ledger had taken the claim from its worker, or that the worker had handed it back. A thread may
    work on after that until its process ends. After a recorded outcome no work is left.
    """
    given_up = {
        (step.job, step.claim): step
        for step in history.rows.transitions
        if step.source == State.RUNNING and step.verb not in {RECORD.name, SUSPEND.name}
    }
    for job, effects in history.effects_of.items():
        for first, second in pairwise(_spans(effects)):
            if second.begun.at >= first.last.at or job not in history.jobs:
                continue
            lost = given_up.get((job, first.begun.claim))
            if lost is None or _is_before(history, second.begun, lost):
                how = "which was not lost" if lost is None else "before that was lost"
                yield f"{history.name(job)}: claim {second.begun.claim} overtook {first.begun.claim}, {how}"


def runs_of_a_job_do_not_overlap(history: History) -> Iterator[str]:
    """Check by the effects that two runs of a job do not overlap.

    A worker ends its runs before its lease ends, whatever its network does. Workers that were stopped are excepted.
    """
    for job, effects in history.effects_of.items():
        for first, second in pairwise(_spans(effects)):
            beside_s = first.last.at - second.begun.at
            if beside_s > 0 and not _stood_still(history, first):
                claims = f"claim {first.begun.claim} overlaps claim {second.begun.claim} by {beside_s:.3f} s"
                yield f"{history.name(job)}: {claims}"


def _stood_still(history: History, span: "_Span") -> bool:
    """Return whether a worker was stopped during the span."""
    return any(each.at < span.last.at and each.at + each.for_s > span.begun.at for each in history.stopped)


class _Span:
    """The first and the last known line of one claim's work."""

    def __init__(self, effects: list[Effect]) -> None:
        self.begun, self.last = effects[0], effects[-1]


def _spans(effects: list[Effect]) -> list[_Span]:
    by_claim: dict[int, list[Effect]] = {}
    for effect in effects:
        by_claim.setdefault(effect.claim, []).append(effect)
    return [_Span(by_claim[claim]) for claim in sorted(by_claim)]


def _is_before(history: History, effect: Effect, step: Transition) -> bool:
    return history.epoch_s(effect) < step.at - history.tolerance_s
