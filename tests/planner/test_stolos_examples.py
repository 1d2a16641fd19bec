"""Example configuration of Stolos: all of its jobs with known parents and children, and their plans."""

from collections import Counter

import pytest

from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import BadKey
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.template_keys import TemplateKeyspace
from sluice.planner.preview.forecast import Forecast
from tests.planner.definitions import children, jobs, parents, previewed
from tests.planner.stolos_jobs import ENUMERATED, FILTERED, JOBS, JOBS_TO_RUN, STOLOS_APPS

rows = pytest.mark.parametrize(("job", "by_group", "below"), JOBS, ids=[job for job, _, _ in JOBS])


@pytest.fixture(scope="module")
def example() -> Catalogue:
    return load([str(STOLOS_APPS)])


@rows
def test_a_job_has_the_parents_and_children_in_the_table(
    example: Catalogue, job: str, by_group: dict[str, str], below: str
) -> None:
    (name,) = jobs(job)
    assert list(parents(example, name).items()) == [(group, jobs(text)) for group, text in by_group.items()]
    assert children(example, name) == jobs(below)


@rows
def test_a_plan_waits_for_the_parents_and_refuses_a_key_that_fits_no_group(
    example: Catalogue, job: str, by_group: dict[str, str], below: str
) -> None:
    (name,) = jobs(job)
    submission = Submission(app=name.app, key=name.key)
    if example.app(name.app).groups and not by_group:
        with pytest.raises(BadKey) as caught:
            previewed(example, submission)
        assert caught.value.what.startswith(f"{job} fits none of the app's dependency groups")
        return
    last = previewed(example, submission).jobs[-1]
    assert last.name == name
    assert {gate.name: [need.parent for need in gate.needs] for gate in last.gates} == {
        group: jobs(text) for group, text in by_group.items()
    }


def test_every_parent_and_child_in_the_table_names_the_other(example: Catalogue) -> None:
    named = {
        name for job, above, below in JOBS for text in (job, below, *above.values()) for name in jobs(text)
    }
    for name in named:
        for above in parents(example, name).values():
            assert all(name in children(example, parent) for parent in above)
        for child in children(example, name):
            assert any(name in needed for needed in parents(example, child).values())


@pytest.mark.parametrize(("job", "passes"), FILTERED)
def test_a_job_runs_only_if_it_passes_the_filter_of_its_app(
    example: Catalogue, job: str, passes: bool
) -> None:
    name = JobName(*job.split("/"))
    assert TemplateKeyspace(example).passes(example.app(name.app), name.key) is passes
    assert (name in _jobs_to_run(example, name)) is passes


@pytest.mark.parametrize("job", JOBS_TO_RUN)
def test_the_jobs_that_run_for_a_job_if_nothing_has_run(example: Catalogue, job: str) -> None:
    found = _jobs_to_run(example, JobName(*job.split("/")))
    assert Counter(name.app for name in found) == JOBS_TO_RUN[job]


@pytest.mark.parametrize("app", ENUMERATED)
def test_the_jobs_that_an_app_enumerates(example: Catalogue, app: str) -> None:
    keys = TemplateKeyspace(example).expand(example.app(app), Submission(app=app))
    assert [JobName(app, key) for key in keys] == jobs(ENUMERATED[app])


def _jobs_to_run(example: Catalogue, name: JobName) -> list[JobName]:
    """Return the jobs that a submission of this one runs if nothing has run before."""
    found = previewed(example, Submission(app=name.app, key=name.key))
    return [job.name for job in found.jobs if found.outlook[job.name].fate is Forecast.NEW]
