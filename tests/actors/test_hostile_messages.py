"""Hostile messages that can be read do no harm. Handlers raise only the errors that their shell expects, the ledger
stays consistent, and other jobs run.

The shell (``broker.consumer.service``) sends a message to the dead letters on BadMessage. A submit message that fails
otherwise is retried, because the ledger may be unreachable. So a submit message that cannot succeed would be retried
indefinitely.
"""

from collections import Counter

import msgspec
from msgspec import Raw

from sluice.actors.executor import transactions
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.external_work import ExternalWorkPoller
from sluice.actors.worker.handlers import handle
from sluice.broker import codec
from sluice.broker.messages import Execute, Message, SubmitMany, Watch
from sluice.jobs.errors import BadMessage
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.submission import SubmissionState
from sluice.ledger.recovery.invariants import breaches
from tests.broker.hostile import hostile_messages
from tests.world import World

COUNT = 2000
CHECK_EVERY = 250
#: Ticks of the groomer, five seconds apart. They last longer than the grace time for submissions that name an unknown
#: app.
TICKS = 15
WORDS = {"job_id": "{x}", "bash_cmd": "true"}
APPS = {
    "a": WORDS | {"max_fails": 1},
    "b": WORDS | {"depends_on": {"app_name": ["a"]}},
    "slotted": WORDS | {"concurrency": 2},
    "prog": {"job_id": "{x}", "job_type": "program"},
    "chunk": {"bash_cmd": "true", "chunk_size": 5, "on_failure": "bisect", "max_fails": 1},
    "day": {"bash_cmd": "true", "step_size": 2, "table_dependencies": [{"table": "events"}]},
}
GOOD = {"good-a": ("a", "good"), "good-b": ("b", "good"), "good-slotted": ("slotted", "good")}
#: Number of submissions that are neither paused nor planned nor refused.
_UNPLANNED = f"""
SELECT count(*) FROM submission WHERE state = '{SubmissionState.RECEIVED}' AND paused_at IS NULL
"""


class Shell:
    """Shell around the handlers in a process, and one worker that runs every offered job."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ended: Counter[str] = Counter()
        self._watching = ExternalWorkPoller(
            world.ledger, lambda: world.catalogue, ClaimsInFlight(), world.queue.extend
        )

    def takes(self, message: Message) -> None:
        try:
            self._handle(message)
        except BadMessage:
            self.ended["dead letter"] += 1
        else:
            self.ended["handled"] += 1
        self.world.deliver()

    def works_off(self) -> None:
        """Run the offered jobs until none is left."""
        while self.world.offered:
            self._handle(self.world.offered.pop(0))
            self.world.deliver()

    def _handle(self, message: Message) -> None:
        world = self.world
        if isinstance(message, Execute):
            claimed, messages = transactions.claim(world.ledger, world.catalogue, message, world.worker)
            outcomes = {job.right: Outcome(ending=Ending.DONE) for job in claimed}
            recorded, refused = transactions.record(world.ledger, outcomes)
            assert not refused
            world.queue.extend([*messages, *recorded])
        elif isinstance(message, Watch):
            self._watching.watch(message, Delivered())
        else:
            world.queue.extend(handle(world.ledger, world.catalogue, message))


class Delivered:
    """Delivery that ignores its verdict."""

    def acknowledge(self) -> None:
        """Do nothing."""


def test_two_thousand_mutated_messages_do_no_harm(world: World) -> None:
    world.define(APPS)
    for id_, (app, key) in GOOD.items():
        world.submit(app, key, id=id_)
    shell = Shell(world)
    for number, hostile in enumerate(hostile_messages(4, COUNT)):
        world.beat(world.worker)
        try:
            _, message = codec.unseal(hostile.queue, hostile.body)
        except BadMessage:
            shell.ended["unread"] += 1
            continue
        shell.takes(message)
        if number % CHECK_EVERY == 0:
            assert world.ledger.transact(breaches) == []
    assert shell.ended["handled"] > COUNT / 3
    assert world.ledger.transact(breaches) == []
    for _ in range(TICKS):
        world.tick(after_s=5)
        world.beat(world.worker)
    shell.works_off()
    world.submit("b", "after", id="after")
    shell.works_off()
    for id_ in (*GOOD, "after"):
        assert world.submission(id_) is SubmissionState.SUCCEEDED
    world.tick()
    assert world.ledger.transact(lambda tx: tx.column(_UNPLANNED)) == [0]


def test_a_submission_with_an_invalid_id_is_refused_under_its_messages_id(
    world: World,
) -> None:
    world.define(APPS)
    rows = [{"app": "a", "key": "1", "id": "x\0"}, {"app": "a\0", "key": "1"}, {"app": "a", "key": "2"}]
    message = SubmitMany(submissions=tuple(Raw(msgspec.json.encode(row)) for row in rows), id="m")
    Shell(world).takes(message)
    assert [world.submission(f"m/{place}") for place in range(3)] == [
        SubmissionState.REFUSED,
        SubmissionState.REFUSED,
        SubmissionState.ACTIVE,
    ]
    assert "NUL" in world.reason("m/0")
