"""Rules about parents and children: by the ledger's clock, and by the times of their effects."""

from collections.abc import Iterator
from itertools import groupby

from sluice.jobs.model.dependency import MET, When
from sluice.jobs.states import CLAIM, REQUEST, RERUN, SUCCEED
from tests.chaos.history import Effect, History
from tests.chaos.rows import Need, Transition

#: Verbs that begin a new life of a job. Its needs are as recorded then, or later.
_BEGINNINGS = {REQUEST.name, RERUN.name}


def children_are_claimed_after_their_parents(history: History) -> Iterator[str]:
    """Check that the first claim of a job's present life came after all needs of one gate were met."""
    for job, gates in _gates(history).items():
        claim = _first_claim(history, job)
        if claim is not None and not any(_is_met(history, needs, claim.at) for needs in gates):
            yield f"{history.name(job)} was claimed although no gate of it was open: {_told(history, gates)}"


def children_begin_after_their_parents_are_done(history: History) -> Iterator[str]:
    """Check the order of the effects, without the ledger's times.

    A child's first line comes after the last line of an accepted run of each parent, if that parent writes any.
    """
    accepted = _accepted(history)
    for job, gates in _gates(history).items():
        first = _first_claim(history, job)
        begun = [each for each in history.effects_of.get(job, []) if first and each.claim >= first.claim]
        if begun and not any(_is_done(history, needs, begun[0], accepted) for needs in gates):
            yield f"{history.name(job)} began before the parents of any gate were done: {_told(history, gates)}"


def _gates(history: History) -> dict[int, list[list[Need]]]:
    """Return the needs of each gate, by child. A gate without needs is open."""
    needs = {
        key: list(group) for key, group in groupby(history.rows.needs, lambda need: (need.child, need.gate))
    }
    found: dict[int, list[list[Need]]] = {}
    for gate in history.rows.gates:
        found.setdefault(gate.child, []).append(needs.get((gate.child, gate.gate), []))
    return found


def _first_claim(history: History, job: int) -> Transition | None:
    """Return the first claim of the job's present life."""
    claim = None
    for step in history.steps_of.get(job, []):
        if step.verb in _BEGINNINGS:
            claim = None
        elif step.verb == CLAIM.name and claim is None:
            claim = step
    return claim


def _is_met(history: History, needs: list[Need], at: float) -> bool:
    """Return whether each parent had by then reached a state that meets the need."""
    return all(
        any(
            step.target in MET[_when(need)] and step.at <= at and step.claim > (need.stale_claim or -1)
            for step in history.steps_of.get(need.parent, [])
        )
        for need in needs
    )


def _is_done(history: History, needs: list[Need], begun: Effect, accepted: dict[int, list[Effect]]) -> bool:
    return all(
        any(
            end.at <= begun.at and end.claim > (need.stale_claim or -1)
            for end in accepted.get(need.parent, [])
        )
        for need in needs
        if need.condition == SUCCEED.target
        and (need.parent in accepted or _leaves_lines(history, need.parent))
    )


def _leaves_lines(history: History, job: int) -> bool:
    """Return whether the job cannot succeed without a line. A job that fills partitions may find nothing to do."""
    parent = history.jobs.get(job)
    return parent is not None and parent.output_table is None and parent.app in history.leaves_effects


def _accepted(history: History) -> dict[int, list[Effect]]:
    """Return the last line of each succeeded run, by job."""
    won = {(step.job, step.claim) for step in history.rows.transitions if step.verb == SUCCEED.name}
    last = {
        (effect.job, effect.claim): effect
        for effect in history.effects
        if effect.event == "end" and (effect.job, effect.claim) in won
    }
    found: dict[int, list[Effect]] = {}
    for (job, _), effect in last.items():
        found.setdefault(job, []).append(effect)
    return found


def _when(need: Need) -> When:
    return next(when for when in MET if when == need.condition)


def _told(history: History, gates: list[list[Need]]) -> str:
    return " or ".join(
        " and ".join(f"{history.name(need.parent)} {need.condition}" for need in needs) for needs in gates
    )
