"""Programs ask for jobs by conditions, and page by page."""

from collections.abc import Sequence

import pytest

from sluice.actors.client import Client
from sluice.broker.messages import Message
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.condition import And, Compare, Field, Input, Not, Operator
from sluice.jobs.errors import BadRequest
from sluice.jobs.paging import Order, OrderBy
from tests.world import World

FIRST = Order(by=OrderBy.CREATED, descending=False)


def _publish(_: Sequence[Message]) -> None:
    """Nobody has to be told: these programs ask."""


@pytest.fixture
def client(world: World) -> Client:
    world.define({"trip": {"job_id": "{n}_{city}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    for n in (2, 9, 10):
        world.submit("trip", f"{n}_oslo", kwargs={"fast": n == 9})
    return Client(world.ledger, _publish, lambda: world.catalogue)


def test_a_condition_is_a_text_or_the_same_as_structs(client: Client) -> None:
    text = "type = bash and inputs.n > 2 and not inputs.fast = true"
    structs = And(
        (
            Compare(Field.TYPE, Operator.EQUAL, "bash"),
            Compare(Input(("n",)), Operator.GREATER, 2),
            Not(Compare(Input(("fast",)), Operator.EQUAL, True)),
        )
    )
    assert [[job.key for job in client.jobs(each).jobs] for each in (text, structs)] == [["10_oslo"]] * 2


def test_pages_follow_on_each_other_and_go_on(client: Client, world: World) -> None:
    first = client.jobs(order=FIRST, limit=2)
    second = client.jobs(order=FIRST, limit=2, page=first.next)
    assert [job.key for page in (first, second) for job in page.jobs] == ["2_oslo", "9_oslo", "10_oslo"]
    world.submit("trip", "1_graz")
    later = client.jobs(order=FIRST, limit=2, page=second.next)
    assert ([job.key for job in later.jobs], later.total) == (["1_graz"], 4)


def test_what_says_nothing_of_definitions_needs_none(world: World, client: Client) -> None:
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
def test_what_cannot_be_asked_is_told(client: Client, words: dict[str, str], told: str) -> None:
    with pytest.raises(BadRequest, match=told):
        client.jobs(**words)
