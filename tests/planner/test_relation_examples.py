"""Small definitions: the parents and children of some of their jobs, and the keys that fit no group.

The examples come from the documentation of Stolos, from definitions on which its two functions disagree, and from
definitions that it refused or misread. Both functions must give the same relation here.
"""

import pytest

from sluice.planner.keyspaces.template_keys import TemplateKeyspace
from tests.planner.definitions import catalogue_of, children, jobs, parents
from tests.planner.relations_misread_by_stolos import RELATIONS_MISREAD_BY_STOLOS
from tests.planner.relations_of_groups import RELATIONS_OF_GROUPS
from tests.planner.relations_of_values import RELATIONS_OF_VALUES

EXAMPLES = RELATIONS_OF_VALUES | RELATIONS_OF_GROUPS | RELATIONS_MISREAD_BY_STOLOS


@pytest.mark.parametrize("example", EXAMPLES)
def test_parents_and_children_are_one_relation(example: str) -> None:
    apps, above, below = EXAMPLES[example]
    catalogue = catalogue_of(apps)
    for job, by_group in above.items():
        (name,) = jobs(job)
        expected = [(group, jobs(text)) for group, text in by_group.items()]
        assert list(parents(catalogue, name).items()) == expected, f"parents of {job}"
    for job, text in below.items():
        (name,) = jobs(job)
        assert children(catalogue, name) == jobs(text), f"children of {job}"


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_key_without_parents_fits_no_group(example: str) -> None:
    apps, above, _ = EXAMPLES[example]
    catalogue = catalogue_of(apps)
    keyspace = TemplateKeyspace(catalogue)
    for job, by_group in above.items():
        (name,) = jobs(job)
        assert keyspace.unmatched(catalogue.app(name.app), name.key) is (not by_group), job
