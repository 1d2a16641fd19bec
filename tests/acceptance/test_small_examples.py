"""Small definitions at the command line: the form of the answers, keys as they are typed, and exit codes.

``tests/planner/test_relation_examples.py`` has the relations of all examples.
"""

import pytest

from tests.acceptance.command_typist import Clerk
from tests.planner.definitions import jobs
from tests.planner.relations_misread_by_stolos import RELATIONS_MISREAD_BY_STOLOS
from tests.planner.relations_of_groups import RELATIONS_OF_GROUPS
from tests.planner.relations_of_values import RELATIONS_OF_VALUES

EXAMPLES = RELATIONS_OF_VALUES | RELATIONS_OF_GROUPS | RELATIONS_MISREAD_BY_STOLOS
SHOWN = [
    "a range may begin below zero",  # A key that looks like an option.
    "how a number is written does not matter",  # A key that is not typed in its canonical spelling.
    "a group may be called default",  # A group with the name that an unnamed group gets.
    "values that no definition lists",  # Neither parents nor children.
    "alternatives, the second a list",  # Several groups and several apps in one group.
]


@pytest.mark.parametrize("example", SHOWN)
def test_parents_and_children_are_listed_by_group(clerk: Clerk, example: str) -> None:
    apps, above, below = EXAMPLES[example]
    source = ("--apps", clerk.defines(apps))
    for job, by_group in above.items():
        found = clerk.asks(*source, "parents", *job.split("/"))
        assert found == [{"group": group, "jobs": as_lists(text)} for group, text in by_group.items()], job
    for job, text in below.items():
        assert clerk.asks(*source, "children", *job.split("/")) == as_lists(text), job


def test_a_cross_product_is_listed_in_canonical_order(clerk: Clerk) -> None:
    apps, _, _ = EXAMPLES["ranges"]
    ((group, parents),) = (
        each.values() for each in clerk.asks("--apps", clerk.defines(apps), "parents", "App2", "20150101")
    )
    assert (group, len(parents)) == ("default", 200)
    assert (parents[0], parents[-1]) == (["App1", "20150101_0_10"], ["App1", "20150101_9_48"])
    assert parents == sorted(parents)


@pytest.mark.parametrize("command", ["plan", "submit"])
def test_a_key_that_fits_no_group_is_refused_before_the_ledger_is_opened(clerk: Clerk, command: str) -> None:
    """No ledger answers here. So a key that fits a group ends with exit code 3."""
    source = ("--apps", clerk.defines(EXAMPLES["a list wins over autofill"][0]))
    refused = clerk.types(*source, command, "c", "1_a")
    assert (refused.code, "c/1_a fits none of the app's dependency groups" in refused.err) == (2, True)
    accepted = clerk.types(*source, command, "c", "1_c")
    assert (accepted.code, "fits none" in accepted.err) == (3, False)


def as_lists(text: str) -> list[list[str]]:
    return [[*name] for name in jobs(text)]
