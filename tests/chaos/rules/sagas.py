"""Rules about sagas by their effects: all of them remain or none, and they are undone in reverse order."""

from collections.abc import Iterator

from sluice.jobs.sagas.journal import Direction, EntryResult
from sluice.jobs.states import State
from tests.chaos.history import Effect, History

#: Terminal states of a saga that leave no effects.
_UNDONE = {
    State.FAILED,
    State.CANCELLED,
    State.EXPIRED,
    State.TIMED_OUT,
    State.UPSTREAM_FAILED,
    State.SKIPPED,
}


def sagas_are_completed_or_undone(history: History) -> Iterator[str]:
    """Check that each step of a succeeded saga is done, and that no step of any other ended saga is left.

    A step that had only begun must be undone, too. Sagas that could not be undone are excepted: an operator handles
    them.
    """
    names = _names(history)
    for job in sorted(history.flown & history.jobs.keys()):
        state, name = history.jobs[job].state, history.name(job)
        begun, done = _left(history, job)
        if state is State.SUCCEEDED and (missing := names.get(job, set()) - done):
            yield f"{name} has succeeded, and its steps {_listed(missing)} are not done"
        if state in _UNDONE and begun:
            yield f"{name} is {state}, and its steps {_listed(begun)} are not undone"


def steps_are_undone_in_reverse_order(history: History) -> Iterator[str]:
    """Check that a step is undone after all steps that were begun after it."""
    for job in sorted(history.flown & history.jobs.keys()):
        there: list[str] = []
        for effect in _heard(history.effects_of.get(job, [])):
            if effect.step is None:
                continue
            if effect.event == "start" and effect.step not in there:
                there.append(effect.step)
            elif effect.event == "undo" and effect.step in there:
                later = there[there.index(effect.step) + 1 :]
                there.remove(effect.step)
                if later:
                    yield f"{effect.name}: {effect.step} was undone before {_listed(set(later))}"


def journals_are_written_under_the_current_claim(history: History) -> Iterator[str]:
    """Check that each entry was written while its claim was valid, and not after an entry of a later claim.

    Forced entries are excepted: an operator writes them without a claim.
    """
    latest: dict[tuple[int, int], int] = {}
    for entry in history.rows.steps:
        if entry.result == EntryResult.FORCED:
            continue
        round_ = history.rounds.get((entry.job, entry.claim))
        ended = round_.executed_at if round_ else None
        told = f"{history.name(entry.job)}: entry {entry.seq} of flight {entry.flight}, under claim {entry.claim},"
        if round_ is None or entry.at < round_.running_at or (ended is not None and entry.at > ended):
            yield f"{told} was written while that claim was not valid"
        flight = (entry.job, entry.flight)
        if entry.claim < latest.setdefault(flight, entry.claim):
            yield f"{told} follows an entry under claim {latest[flight]}"
        latest[flight] = max(latest[flight], entry.claim)


def flights_keep_their_course(history: History) -> Iterator[str]:
    """Check that each entry of a journal follows from the one before it."""
    yield from history.rows.astray


def _names(history: History) -> dict[int, set[str]]:
    """Return the steps that the last flight of each job took forward."""
    last: dict[int, int] = {}
    for entry in history.rows.steps:
        last[entry.job] = max(entry.flight, last.get(entry.job, 0))
    names: dict[int, set[str]] = {}
    for entry in history.rows.steps:
        is_forward = entry.direction == Direction.DO and entry.result in {
            EntryResult.DONE,
            EntryResult.AWAITS,
            EntryResult.AGAIN,
        }
        if entry.flight == last[entry.job] and is_forward:
            names.setdefault(entry.job, set()).add(entry.name)
    return names


def _left(history: History, job: int) -> tuple[set[str], set[str]]:
    """Return the steps that have begun and are not undone, and the steps among them that are done."""
    begun: set[str] = set()
    done: set[str] = set()
    for effect in _heard(history.effects_of.get(job, [])):
        if effect.step is None:
            continue
        if effect.event == "undo":
            begun.discard(effect.step)
            done.discard(effect.step)
        else:
            begun.add(effect.step)
            if effect.event == "end":
                done.add(effect.step)
    return begun, done


def _heard(effects: list[Effect]) -> Iterator[Effect]:
    """Yield the effects that a store with fencing tokens accepts. It drops effects of overtaken claims."""
    fence = 0
    for effect in effects:
        if effect.claim >= fence:
            fence = effect.claim
            yield effect


def _listed(steps: set[str]) -> str:
    return ", ".join(sorted(steps))
