"""The claims of each job: one outcome each, one after the other, and work only under a claim that there was."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from sluice.jobs.states import CLAIM, RECORD, SUCCEED, SUSPEND, State
from tests.chaos.history import Effect, History
from tests.chaos.rows import Job, Transition


def claims_have_one_outcome_each(history: History) -> Iterator[str]:
    """Each claim in the history of a job has a round, and each round a claim. It is left once, by one step."""
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
                yield f"claim {claim} of {job.name} has come to {times} outcomes"


def claims_do_not_overlap(history: History) -> Iterator[str]:
    """Under the ledger's clock each begins once the one before it has ended."""
    for job, rounds in history.rounds_of.items():
        for first, second in pairwise(rounds):
            if first.executed_at is None or second.running_at < first.executed_at:
                yield f"{history.name(job)}: claim {second.claim} begins before claim {first.claim} has ended"


def work_is_done_under_a_claim(history: History) -> Iterator[str]:
    """Whatever a job did was done under a claim of that job, and not before that."""
    for effect in history.effects:
        job, round_ = history.jobs.get(effect.job), history.rounds.get((effect.job, effect.claim))
        if job is None or round_ is None or job.name != effect.name:
            yield f"{effect.name} ran as job {effect.job} under claim {effect.claim}, which there never was"
        elif history.epoch_s(effect) < round_.running_at - history.tolerance_s:
            early_s = round_.running_at - history.epoch_s(effect)
            yield f"{effect.name} ran {early_s:.3f} s before its claim {effect.claim}"


def a_claim_begins_its_job_once(history: History) -> Iterator[str]:
    """A step of a saga may be tried again under the same claim; a job is not."""
    begun = Counter((e.job, e.claim) for e in history.effects if e.event == "start" and e.step is None)
    for (job, claim), times in begun.items():
        if times > 1:
            yield f"{history.name(job)} was begun {times} times under claim {claim}"


def what_ends_has_begun(history: History) -> Iterator[str]:
    """Under the same claim. It may be another process that says so: a command has one for each line."""
    begun: set[tuple[int, int, str | None]] = set()
    for effect in history.effects:
        run = (effect.job, effect.claim, effect.step)
        if effect.event == "start":
            begun.add(run)
        elif effect.event == "end" and run not in begun:
            yield f"{effect.name} ended under claim {effect.claim}, and had not begun"


def what_has_succeeded_was_done(history: History) -> Iterator[str]:
    """Under the very claim that was taken at its word, and before it was. A step that fills partitions may find that an
    earlier claim had made them all; a saga has its own rule."""
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
    """When the ledger took the claim at its word: it may have judged that later."""
    round_ = history.rounds.get((step.job, step.claim))
    return min(step.at, round_.executed_at) if round_ and round_.executed_at else step.at


def _was_done_before(job: Job, step: Transition, begun: set[tuple[int, int]]) -> bool:
    return job.place is not None and any((step.job, claim) in begun for claim in range(1, step.claim))


def only_who_was_lost_is_overtaken(history: History) -> Iterator[str]:
    """Where the next claim's work begins before the last one's has ended, the ledger had taken that from its worker
    before, or had it handed back: a thread that works on until its process ends. Of one that was recorded no work is
    left."""
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
    """By what they wrote outside of the ledger. A worker ends its runs before its lease ends, whatever its network
    does, unless it stood still."""
    for job, effects in history.effects_of.items():
        for first, second in pairwise(_spans(effects)):
            beside_s = first.last.at - second.begun.at
            if beside_s > 0 and not _stood_still(history, first):
                claims = f"claim {first.begun.claim} went on for {beside_s:.3f} s beside claim {second.begun.claim}"
                yield f"{history.name(job)}: {claims}"


def _stood_still(history: History, span: "_Span") -> bool:
    """Whether a worker did so during it."""
    return any(each.at < span.last.at and each.at + each.for_s > span.begun.at for each in history.stopped)


class _Span:
    """What is known of one claim's work: its first line, and its last."""

    def __init__(self, effects: list[Effect]) -> None:
        self.begun, self.last = effects[0], effects[-1]


def _spans(effects: list[Effect]) -> list[_Span]:
    by_claim: dict[int, list[Effect]] = {}
    for effect in effects:
        by_claim.setdefault(effect.claim, []).append(effect)
    return [_Span(by_claim[claim]) for claim in sorted(by_claim)]


def _is_before(history: History, effect: Effect, step: Transition) -> bool:
    return history.epoch_s(effect) < step.at - history.tolerance_s
