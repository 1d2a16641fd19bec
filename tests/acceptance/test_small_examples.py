"""Small definitions through the command line: parents and children of their jobs, and who is refused."""

import pytest

from tests.acceptance.clerk import Clerk
from tests.acceptance.relations import RELATIONS
from tests.planner.definitions import jobs
from tests.planner.relations_of_groups import RELATIONS_OF_GROUPS
from tests.planner.relations_of_values import RELATIONS_OF_VALUES

EXAMPLES = RELATIONS_OF_VALUES | RELATIONS_OF_GROUPS | RELATIONS


@pytest.mark.parametrize("example", EXAMPLES)
def test_parents_and_children(clerk: Clerk, example: str) -> None:
    apps, above, below = EXAMPLES[example]
    source = ("--apps", clerk.defines(apps))
    for job, by_group in above.items():
        told = clerk.asks(*source, "parents", *job.split("/"))
        assert told == [{"group": group, "jobs": as_lists(text)} for group, text in by_group.items()], job
    for job, text in below.items():
        assert clerk.asks(*source, "children", *job.split("/")) == as_lists(text), job


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_key_that_fits_no_group_is_refused(clerk: Clerk, example: str) -> None:
    """Before a ledger is asked: none answers here. A key that fits gets as far as that."""
    apps, above, _ = EXAMPLES[example]
    source = ("--apps", clerk.defines(apps))
    for job, by_group in above.items():
        said = clerk.types(*source, "submit", *job.split("/"))
        assert (said.code, f"{job} fits none" in said.err) == ((3, False) if by_group else (2, True)), job


def test_a_cross_product_is_told_in_canonical_order(clerk: Clerk) -> None:
    apps, _, _ = EXAMPLES["ranges"]
    ((group, parents),) = (
        each.values() for each in clerk.asks("--apps", clerk.defines(apps), "parents", "App2", "20150101")
    )
    assert (group, len(parents)) == ("default", 200)
    assert (parents[0], parents[-1]) == (["App1", "20150101_0_10"], ["App1", "20150101_9_48"])
    assert parents == sorted(parents)


def as_lists(text: str) -> list[list[str]]:
    return [[*name] for name in jobs(text)]
