"""Small configurations: those of Stolos's own documentation, and those on which its two functions disagree.

Where they disagree, the answer here is the one relation's.
"""

import pytest

from tests.planner.definitions import catalogue_of, children, jobs, parents
from tests.planner.relations_of_groups import RELATIONS_OF_GROUPS
from tests.planner.relations_of_values import RELATIONS_OF_VALUES

EXAMPLES = RELATIONS_OF_VALUES | RELATIONS_OF_GROUPS


@pytest.mark.parametrize("example", EXAMPLES)
def test_parents_and_children_are_two_readings_of_one_relation(example: str) -> None:
    apps, above, below = EXAMPLES[example]
    catalogue = catalogue_of(apps)
    for job, by_group in above.items():
        (name,) = jobs(job)
        expected = {group: jobs(text) for group, text in by_group.items()}
        assert parents(catalogue, name) == expected, f"parents of {job}"
    for job, text in below.items():
        (name,) = jobs(job)
        assert children(catalogue, name) == jobs(text), f"children of {job}"
