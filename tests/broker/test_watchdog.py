"""Detection of lanes that RabbitMQ does not feed any more."""

from sluice.broker.rabbitmq.watchdog import Vigil


def look(vigil: Vigil, *, waiting: int, consumers: int = 1) -> bool:
    vigil.begin()
    return vigil.is_forgotten(waiting=waiting, consumers=consumers)


def test_a_lane_without_a_consumer_in_rabbitmq_is_forgotten() -> None:
    assert look(Vigil(), waiting=0, consumers=0)


def test_an_idle_lane_on_an_empty_queue_is_not_forgotten() -> None:
    vigil = Vigil()
    assert not any(look(vigil, waiting=0) for _ in range(5))


def test_a_lane_is_forgotten_if_a_message_waits_during_two_checks() -> None:
    vigil = Vigil()
    assert not look(vigil, waiting=1)
    assert look(vigil, waiting=1)


def test_a_lane_that_gets_messages_from_a_backlog_is_not_forgotten() -> None:
    vigil = Vigil()
    for _ in range(5):
        vigil.note_arrival()
        assert not look(vigil, waiting=100)


def test_a_message_that_arrives_during_a_check_counts() -> None:
    vigil = Vigil()
    assert not look(vigil, waiting=1)
    vigil.begin()
    vigil.note_arrival()
    assert not vigil.is_forgotten(waiting=1, consumers=1)
