"""Whether RabbitMQ still feeds a lane."""

from sluice.broker.rabbitmq.vigil import Vigil


def look(vigil: Vigil, *, waiting: int, consumers: int = 1) -> bool:
    vigil.begin()
    return vigil.is_forgotten(waiting=waiting, consumers=consumers)


def test_a_lane_that_rabbitmq_does_not_know_is_forgotten() -> None:
    assert look(Vigil(), waiting=0, consumers=0)


def test_an_idle_lane_on_an_empty_queue_is_not_forgotten() -> None:
    vigil = Vigil()
    assert not any(look(vigil, waiting=0) for _ in range(5))


def test_a_message_that_waits_for_two_looks_has_been_overlooked() -> None:
    vigil = Vigil()
    assert not look(vigil, waiting=1)
    assert look(vigil, waiting=1)


def test_a_backlog_from_which_messages_arrive_is_not_overlooked() -> None:
    vigil = Vigil()
    for _ in range(5):
        vigil.note_arrival()
        assert not look(vigil, waiting=100)


def test_what_arrives_during_a_look_counts() -> None:
    vigil = Vigil()
    assert not look(vigil, waiting=1)
    vigil.begin()
    vigil.note_arrival()
    assert not vigil.is_forgotten(waiting=1, consumers=1)
