"""Two installations in one virtual host or Redis database: the second is refused, and both are named."""

import json
import logging
from collections.abc import Iterator
from threading import Barrier, Thread

import pika
import pytest
import redis

from sluice.broker.connect import connect
from sluice.broker.delivery import Delivery
from sluice.broker.messages import PLANNER, Message, Submit
from sluice.broker.owner import InstallationOwner
from sluice.broker.rabbitmq.topology import OWNER_QUEUE
from sluice.jobs.errors import BadSetting, ForeignBroker
from tests.broker.conftest import Post, Ran, parcel, until
from tests.servers import empty_database

OURS = InstallationOwner("111111111111", "postgresql://one/sluice")
THEIRS = InstallationOwner("222222222222", "postgresql://two/sluice")


@pytest.fixture
def place(server: Post) -> Iterator[Post]:
    """Yield a server without an owner, and remove its owner afterwards."""
    _lose_everything(server)
    yield server
    _lose_everything(server)


def _lose_everything(server: Post) -> None:
    if server.kind == "redis":
        with redis.Redis.from_url(server.url) as client:
            empty_database(client)
        return
    with pika.BlockingConnection(pika.URLParameters(server.url)) as connection:
        connection.channel().queue_delete(OWNER_QUEUE)


def test_the_second_installation_is_refused_and_both_are_named(place: Post) -> None:
    place.connect(owner=OURS).require_own()
    place.connect(owner=OURS).require_own()
    other = place.connect(owner=THEIRS)
    with pytest.raises(ForeignBroker) as refused:
        other.require_own()
    assert OURS.ledger in refused.value.what
    assert THEIRS.ledger in refused.value.what
    assert "sluice broker take" in refused.value.advice


def test_a_message_of_another_installation_is_not_published(place: Post) -> None:
    place.connect(owner=OURS).require_own()
    other = place.connect(owner=THEIRS)
    for _ in range(2):
        with pytest.raises(ForeignBroker):
            other.publish(parcel(place.app, 1))
    assert place.broker.depth(place.app) == 0


def test_an_installation_is_the_same_if_its_ledger_has_another_address(place: Post) -> None:
    place.connect(owner=OURS).require_own()
    place.connect(owner=InstallationOwner(OURS.id, "postgresql://one.example:5432/sluice")).require_own()


def test_two_concurrent_first_installations_cannot_both_own_a_broker(place: Post) -> None:
    brokers = {owner: place.connect(owner=owner) for owner in (OURS, THEIRS)}
    ready, refused = Barrier(2), list[InstallationOwner]()

    def use(owner: InstallationOwner) -> None:
        ready.wait()
        try:
            brokers[owner].require_own()
        except ForeignBroker:
            refused.append(owner)

    threads = [Thread(target=use, args=[owner]) for owner in brokers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1


def test_a_broker_can_be_taken_over(place: Post) -> None:
    old = place.connect(owner=OURS)
    old.require_own()
    new = place.connect(owner=THEIRS)
    assert InstallationOwner.read(new.take() or "") == OURS
    new.require_own()
    new.publish(parcel(place.app, 1))
    with pytest.raises(ForeignBroker):
        place.connect(owner=OURS).require_own()


def test_a_broker_that_lost_all_data_belongs_to_the_next_installation(place: Post) -> None:
    place.connect(owner=OURS).require_own()
    _lose_everything(place)
    place.connect(owner=THEIRS).require_own()
    with pytest.raises(ForeignBroker):
        place.connect(owner=OURS).require_own()


def test_no_message_is_taken_from_a_broker_of_another_installation(
    place: Post, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that started while the broker was unavailable finds this out later."""
    place.connect(owner=OURS).require_own()
    place.broker.publish(parcel(place.app, 1, 2))
    ran = Ran()
    with caplog.at_level(logging.WARNING):
        place.serve({"execute": ran}, broker=place.connect(owner=THEIRS))
        until(lambda: "belongs to another installation" in caplog.text)
    assert ran.jobs == []
    _lose_everything(place)
    if place.kind == "redis":
        place.broker.publish(parcel(place.app, 1, 2))
    until(lambda: sorted(ran.jobs) == [1, 2], within_s=5)


def test_installations_in_different_namespaces_can_share_a_server(server: Post) -> None:
    queue, runs = f"{server.app}.shared", {OURS: Ran(), THEIRS: Ran()}
    brokers = {
        owner: server.connect(namespace=namespace, owner=owner)
        for owner, namespace in ((OURS, "one"), (THEIRS, "two"))
    }
    for owner, broker in brokers.items():
        broker.require_own()
        server.serve({"execute": runs[owner]}, [queue], broker=broker)
    for owner, jobs in ((OURS, (1, 2)), (THEIRS, (3,))):
        server.connect(namespace="one" if owner is OURS else "two").publish(parcel(queue, *jobs))
    until(lambda: (sorted(runs[OURS].jobs), runs[THEIRS].jobs) == ([1, 2], [3]))
    if server.kind == "redis":
        _lose_everything(server)


def test_a_submission_by_the_exchange_only_reaches_the_planner_of_its_namespace(rabbitmq: Post) -> None:
    heard: dict[str, list[str]] = {"": [], "one": []}
    for namespace, ids in heard.items():

        def note(message: Message, _: Delivery, ids: list[str] = ids) -> None:
            assert isinstance(message, Submit)
            ids.append(message.id)

        rabbitmq.serve({"submit": note}, [PLANNER], broker=rabbitmq.connect(namespace=namespace))
    letter = {"queue_name": "planner", "actor_name": "submit", "kwargs": {"app": "a"}, "message_id": "mine"}

    def is_sent() -> bool:
        """Return whether the submission was routed. The service creates the exchange with the planner's queue."""
        with pika.BlockingConnection(pika.URLParameters(rabbitmq.url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            try:
                body = json.dumps(letter).encode()
                channel.basic_publish("one:sluice.submit", PLANNER, body, mandatory=True)
            except (pika.exceptions.ChannelClosedByBroker, pika.exceptions.UnroutableError):
                return False
        return True

    until(is_sent)
    until(lambda: heard["one"])
    assert heard == {"": [], "one": ["mine"]}


@pytest.mark.parametrize("namespace", ["a b", "ä", "x" * 101, "*"])
def test_an_invalid_namespace_is_refused(namespace: str) -> None:
    with pytest.raises(BadSetting, match="SLUICE_BROKER_NAMESPACE"):
        connect("memory://", namespace=namespace)
