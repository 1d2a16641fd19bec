"""Properties of walks over any catalogue: a walk ends, its plan is complete, and pushing follows the same path."""

import random
from collections.abc import Callable, Iterable, Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadKey
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.planner.keyspaces.template_keys import TemplateKeyspace
from sluice.planner.preview.preview import Preview
from tests.planner.definitions import children, parents, previewed
from tests.planner.drawn_definitions import Words, drawn_apps, loaded, tried_jobs

Jobs = set[JobName]
#: States that a job may have, or None if it does not exist. Jobs with keys are never split.
STATES = [None, *(state for state in State if state is not State.SPLIT)]


@given(drawn_apps(), st.randoms(use_true_random=False))
def test_with_no_job_done_a_walk_requests_all_needed_jobs_and_names_the_rest(
    drawn: dict[str, Words], dice: random.Random
) -> None:
    catalogue = loaded(drawn)
    wanted = chosen(catalogue, dice)
    needed = pulled(catalogue, wanted)
    if strays := [name for name in needed if is_unmatched(catalogue, name)]:
        with pytest.raises(BadKey) as caught:
            walked(catalogue, wanted, {})
        assert any(f"{name} fits none" in caught.value.what for name in strays)
        return
    found = walked(catalogue, wanted, {})
    named = {parent for name in needed for group in parents(catalogue, name).values() for parent in group}
    assert with_standing(found, EntryState.WANTED) == needed
    assert with_standing(found, EntryState.EXPECTED) == named - needed
    places = {job.name: place for place, job in enumerate(found.jobs)}
    for job in found.jobs:
        assert all(places[need.parent] < places[job.name] for gate in job.gates for need in gate.needs)


@given(drawn_apps(), st.randoms(use_true_random=False))
def test_a_plan_lacks_no_parent_whatever_states_the_jobs_have(
    drawn: dict[str, Words], dice: random.Random
) -> None:
    catalogue = loaded(drawn)
    wanted = chosen(catalogue, dice)
    assume(not any(is_unmatched(catalogue, name) for name in every_ancestor(catalogue, wanted)))
    known = {name: state for name in tried_jobs(catalogue) if (state := dice.choice(STATES))}
    found = walked(catalogue, wanted, known)
    asked = with_standing(found, EntryState.WANTED)
    seen_to = {name for name, state in known.items() if state not in (State.EXPECTED, State.CANCELLED)}
    named = set(wanted)
    for job in found.jobs:
        groups = [{need.parent for need in gate.needs} for gate in job.gates]
        assert all(group <= {each.name for each in found.jobs} for group in groups)
        assert not groups or any(group <= asked | seen_to for group in groups)
        named.update(*groups)
    assert asked <= named


@given(drawn_apps(), st.randoms(use_true_random=False))
def test_a_job_pulls_exactly_the_jobs_that_lead_down_to_it(
    drawn: dict[str, Words], dice: random.Random
) -> None:
    """On the way down, only the alternatives that were chosen on the way up are followed."""
    catalogue = loaded(drawn)
    wanted = chosen(catalogue, dice)[:1]
    needed = pulled(catalogue, wanted)
    candidates = descendants(catalogue, roots(catalogue, needed))
    assert needed <= candidates
    leading = set(wanted)
    while more := {
        name
        for name in candidates - leading
        for child in children(catalogue, name)
        if child in leading and name in first_group(catalogue, child)
    }:
        leading |= more
    assert leading == needed


@given(drawn_apps(), st.randoms(use_true_random=False))
def test_pushing_from_the_roots_of_the_pulled_jobs_runs_all_of_them(
    drawn: dict[str, Words], dice: random.Random
) -> None:
    catalogue = loaded(drawn)
    needed = pulled(catalogue, chosen(catalogue, dice))
    assume(not any(is_unmatched(catalogue, name) for name in needed))
    assert needed <= pushed(catalogue, roots(catalogue, needed))


@given(drawn_apps(groups_max=1), st.randoms(use_true_random=False))
def test_pulling_the_ends_of_the_pushed_jobs_runs_the_same_jobs(
    drawn: dict[str, Words], dice: random.Random
) -> None:
    """Without alternatives there is one way up, so push and pull reach exactly the same jobs."""
    catalogue = loaded(drawn)
    done = pushed(catalogue, roots(catalogue, pulled(catalogue, chosen(catalogue, dice))))
    ends = {name for name in done if done.isdisjoint(children(catalogue, name))}
    assert pulled(catalogue, ends) == done


def chosen(catalogue: Catalogue, dice: random.Random) -> list[JobName]:
    """Return up to three jobs of one app that have parents."""
    dependent = [name for name in tried_jobs(catalogue) if parents(catalogue, name)]
    assume(dependent)
    app = dice.choice(dependent).app
    of_app = [name for name in dependent if name.app == app]
    return dice.sample(of_app, min(len(of_app), dice.randint(1, 3)))


def is_unmatched(catalogue: Catalogue, name: JobName) -> bool:
    return TemplateKeyspace(catalogue).unmatched(catalogue.app(name.app), name.key)


def walked(catalogue: Catalogue, wanted: list[JobName], known: Mapping[JobName, State]) -> Preview:
    submission = Submission(app=wanted[0].app, keys=tuple(name.key for name in wanted), id="drawn")
    return previewed(catalogue, submission, known)


def with_standing(found: Preview, standing: EntryState) -> Jobs:
    return {job.name for job in found.jobs if job.standing is standing}


def first_group(catalogue: Catalogue, name: JobName) -> list[JobName]:
    return next(iter(parents(catalogue, name).values()), [])


def pulled(catalogue: Catalogue, wanted: Iterable[JobName]) -> Jobs:
    """Return the jobs that run for these jobs if no job is done: each by its first alternative."""
    return closure(wanted, lambda name: first_group(catalogue, name))


def every_ancestor(catalogue: Catalogue, wanted: Iterable[JobName]) -> Jobs:
    return closure(
        wanted, lambda name: [each for group in parents(catalogue, name).values() for each in group]
    )


def descendants(catalogue: Catalogue, above: Iterable[JobName]) -> Jobs:
    return closure(above, lambda name: children(catalogue, name))


def closure(start: Iterable[JobName], step: Callable[[JobName], Iterable[JobName]]) -> Jobs:
    found: Jobs = set()
    ahead = [*start]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += step(name)
    return found


def roots(catalogue: Catalogue, names: Jobs) -> Jobs:
    return {name for name in names if not parents(catalogue, name)}


def pushed(catalogue: Catalogue, started: Jobs) -> Jobs:
    """Return all jobs that run if these ran, and each further job is pushed as soon as one alternative is met."""
    done = set(started)
    while more := {
        child
        for name in done
        for child in children(catalogue, name)
        if child not in done and any(done.issuperset(group) for group in parents(catalogue, child).values())
    }:
        done |= more
    return done
