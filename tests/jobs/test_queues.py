"""The queues that a worker serves according to its list, with ``*`` for all apps."""

import pytest

from sluice.jobs.model.queues import CONTROL, expand, follows_apps, is_served


@pytest.mark.parametrize(
    ("queues", "served", "follows"),
    [
        ([], [*CONTROL, "a", "b"], True),
        (["*"], ["a", "b"], True),
        (["b", "*"], ["b", "a"], True),
        (["planner", "*"], ["planner", "a", "b"], True),
        (["b"], ["b"], False),
        (["groomer"], ["groomer"], False),
    ],
)
def test_a_list_of_queues_expands_to_these(queues: list[str], served: list[str], follows: bool) -> None:
    assert expand(queues, ["a", "b"]) == served
    assert follows_apps(queues) is follows
    known = [*CONTROL, "a", "b"]
    assert {queue for queue in known if is_served(queue, queues)} == {*served}
