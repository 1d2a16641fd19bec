"""The example configuration of Stolos: every job of it whose parents and children are known."""

import pytest

from jobs.catalogue import Catalogue, load
from jobs.ref import JobName
from planner.template_keys import TemplateKeyspace
from tests.planner.definitions import children, jobs, parents
from tests.planner.stolos_jobs import FILTERED, JOBS, STOLOS_APPS


@pytest.fixture(scope="module")
def example() -> Catalogue:
    return load([str(STOLOS_APPS)])


@pytest.mark.parametrize(("job", "by_group", "below"), JOBS, ids=[job for job, _, _ in JOBS])
def test_the_parents_and_children_of_a_job(
    example: Catalogue, job: str, by_group: dict[str, str], below: str
) -> None:
    (name,) = jobs(job)
    assert parents(example, name) == {group: jobs(text) for group, text in by_group.items()}
    assert children(example, name) == jobs(below)


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
def test_filters(example: Catalogue, job: str, passes: bool) -> None:
    name = JobName(*job.split("/"))
    assert TemplateKeyspace(example).passes(example.app(name.app), name.key) is passes
