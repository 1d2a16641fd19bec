"""Queries of programs: jobs by condition, page by page."""

from collections.abc import Sequence

import pytest

from sluice.actors.client import Client
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.text.filters import And, Compare, Field, Input, Not, Operator
from sluice.jobs.text.paging import Order, OrderBy
from tests.world import World

FIRST = Order(by=OrderBy.CREATED, descending=False)


def _publish(_: Sequence[Message]) -> None:
    """Drop the messages: these programs only read."""


@pytest.fixture
def client(world: World) -> Client:
    world.define({"trip": {"job_id": "{n}_{city}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    for n in (2, 9, 10):
        world.submit("trip", f"{n}_oslo", kwargs={"fast": n == 9})
    return Client(world.ledger, _publish, lambda: world.catalogue)


def test_a_condition_as_text_and_as_structs_finds_the_same_jobs(client: Client) -> None:
    text = "type = bash and inputs.n > 2 and not inputs.fast = true"
    structs = And(
        (
            Compare(Field.TYPE, Operator.EQUAL, "bash"),
            Compare(Input(("n",)), Operator.GREATER, 2),
            Not(Compare(Input(("fast",)), Operator.EQUAL, True)),
        )
    )
    assert [[job.key for job in client.jobs(each).jobs] for each in (text, structs)] == [["10_oslo"]] * 2


def test_the_last_page_continues_with_jobs_submitted_later(client: Client, world: World) -> None:
    first = client.jobs(order=FIRST, limit=2)
    second = client.jobs(order=FIRST, limit=2, page=first.next)
    assert [job.key for page in (first, second) for job in page.jobs] == ["2_oslo", "9_oslo", "10_oslo"]
    world.submit("trip", "1_graz")
    later = client.jobs(order=FIRST, limit=2, page=second.next)
    assert ([job.key for job in later.jobs], later.total) == (["1_graz"], 4)


def test_a_condition_without_typed_inputs_works_with_faulty_or_no_definitions(
    world: World, client: Client
) -> None:
    def broken() -> Catalogue:
        raise BadRequest("The definitions have a fault.")

    without = Client(world.ledger, _publish, broken)
    assert without.jobs("key = 2_oslo and round = 0").total == 1
    with pytest.raises(BadRequest, match="have a fault"):
        without.jobs("inputs.n = 2")
    assert Client(world.ledger, _publish).jobs("inputs.n is null and inputs.fast = true").total == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"where": "state = faild"}, "'faild' is no state"),
        ({"page": "first"}, "does not begin with p1."),
        ({"limit": 0}, "1 to 10000 jobs"),
        ({"limit": 10_001}, "1 to 10000 jobs"),
    ],
)
def test_an_invalid_query_is_refused_with_its_fault(client: Client, words: dict[str, str], told: str) -> None:
    with pytest.raises(BadRequest, match=told):
        client.jobs(**words)
