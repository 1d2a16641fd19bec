"""Behaviour of every broker: from publishing to the handler, and until the message is removed."""

import threading
from collections import Counter

import pytest
from msgspec import Raw

from sluice.broker.consumer.service import FollowUp, Service
from sluice.broker.consumer.slots import SlotPool, SlotReservation
from sluice.broker.delivery import Delivery
from sluice.broker.messages import PLANNER, Cancel, Execute, JobRound, Message, Plan, Submit
from sluice.jobs.errors import BadMessage, BadSetting, Unreachable
from tests.broker.conftest import Post, Ran, parcel, until


def test_published_messages_are_handled_once_and_removed(post: Post) -> None:
    ran = Ran()
    post.serve({"execute": ran})
    post.broker.publish(parcel(post.app, *range(50)))
    until(lambda: len(ran.jobs) == 50)
    assert sorted(ran.jobs) == list(range(50))
    assert post.broker.depth(post.app) == 0
    assert post.broker.dead_letters(post.app) == 0


def test_a_batch_of_a_thousand_messages_arrives_completely(post: Post) -> None:
    post.broker.publish(parcel(post.app, *range(1000)))
    until(lambda: post.broker.depth(post.app) == 1000)
    post.broker.purge(post.app)
    assert post.broker.depth(post.app) == 0


def test_many_threads_may_publish_at_once(post: Post) -> None:
    threads = [
        threading.Thread(target=post.broker.publish, args=[parcel(post.app, *range(start, start + 100))])
        for start in range(0, 800, 100)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: post.broker.depth(post.app) == 800)


def test_an_unused_queue_is_empty(post: Post) -> None:
    assert post.broker.depth(post.app) == 0
    assert post.broker.dead_letters(post.app) == 0
    post.broker.purge(post.app)


def test_messages_that_waited_before_the_worker_started_are_handled(post: Post) -> None:
    post.broker.publish(parcel(post.app, 1, 2, 3))
    ran = Ran()
    post.serve({"execute": ran})
    until(lambda: sorted(ran.jobs) == [1, 2, 3])


def test_a_handler_gets_the_submission_as_it_was_sent(post: Post) -> None:
    got: list[Message] = []
    post.serve({"submit": lambda message, delivery: got.append(message)}, [PLANNER])
    post.broker.publish([Submit(submission=Raw(b'{"app":"etl","key":"7"}'), id="one")])
    until(lambda: got)
    assert isinstance(got[0], Submit)
    assert (bytes(got[0].submission), got[0].id) == (b'{"app":"etl","key":"7"}', "one")


def test_news_is_delivered_again_until_its_handler_succeeds(post: Post) -> None:
    tries: list[str] = []

    def admit(message: Message, delivery: Delivery) -> None:
        tries.append(delivery.message_id)
        if len(tries) < 3:
            raise Unreachable("The ledger does not answer.")

    post.serve({"submit": admit}, [PLANNER])
    post.broker.publish([Submit(submission=Raw(b"{}"), id="one")])
    until(lambda: len(tries) == 3)
    assert set(tries) == {"one"}
    until(lambda: post.broker.depth(PLANNER) == 0)


def test_failing_news_does_not_delay_other_messages(post: Post) -> None:
    planned = threading.Event()

    def fail(message: Message, delivery: Delivery) -> None:
        raise RuntimeError("no")

    post.serve({"cancel": fail, "plan": lambda message, delivery: planned.set()}, [PLANNER], slots=1)
    post.broker.publish([Cancel(submission=str(number)) for number in range(20)])
    post.broker.publish([Plan(submissions=("x",))])
    assert planned.wait(5)


def test_a_notification_with_a_failing_handler_is_dropped_with_one_log_line(
    post: Post, caplog: pytest.LogCaptureFixture
) -> None:
    tried = Counter[int]()

    def fail(message: Message, delivery: Delivery) -> None:
        assert isinstance(message, Execute)
        tried[message.jobs[0].job] += 1
        if message.jobs[0].job == 1:
            raise ValueError("first line\nsecond line")

    post.serve({"execute": fail}, slots=1)
    post.broker.publish(parcel(post.app, 1, 2))
    until(lambda: tried[2] == 1)
    assert tried[1] == 1
    assert post.broker.dead_letters(post.app) == 0
    lines = [record.getMessage() for record in caplog.records if "failed" in record.getMessage()]
    assert len(lines) == 1
    assert "ValueError: first line second line" in lines[0]


def test_a_message_that_its_handler_refuses_becomes_a_dead_letter(post: Post) -> None:
    def refuse(message: Message, delivery: Delivery) -> None:
        raise BadMessage("neither a submission nor a job")

    post.serve({"cancel": refuse}, [PLANNER])
    post.broker.publish([Cancel()])
    until(lambda: post.broker.dead_letters(PLANNER) == 1)
    assert post.broker.depth(PLANNER) == 0


STRANGE = {
    "no JSON": b"\x80\x04pickle" * 50,
    "unknown actor": b'{"queue_name":"q","actor_name":"rm","args":[],"kwargs":{},"message_id":"id1"}',
    "positional": b'{"queue_name":"q","actor_name":"execute","args":[1],"kwargs":{},"message_id":"id1"}',
    "10 MB": b'{"message_id":"id1","kwargs":"' + b"x" * 10_000_000 + b'"}',
}


@pytest.mark.parametrize("body", STRANGE.values(), ids=STRANGE)
def test_an_unreadable_message_becomes_a_dead_letter_and_the_worker_continues(
    post: Post, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    ran = Ran()
    post.serve({"execute": ran}, slots=1)
    for _ in range(3):
        post.put(post.app, body)
    post.broker.publish(parcel(post.app, 1))
    until(lambda: ran.jobs == [1])
    until(lambda: post.broker.dead_letters(post.app) == 3)
    records = [record for record in caplog.records if "dead letters" in record.getMessage()]
    assert len(records) == 3
    for record in records:
        assert post.app in record.getMessage()
        assert record.exc_info is None
        assert len(record.getMessage()) < 500
        assert "xxxx" not in record.getMessage()


def test_a_message_without_a_handler_becomes_a_dead_letter(post: Post) -> None:
    post.serve({"execute": Ran()}, [PLANNER])
    post.broker.publish([Plan(submissions=("x",))])
    until(lambda: post.broker.dead_letters(PLANNER) == 1)


def test_a_slot_stays_busy_until_the_handler_ends_even_after_an_early_acknowledgement(post: Post) -> None:
    started, finish = Ran(), threading.Event()

    def run(message: Message, delivery: Delivery) -> None:
        delivery.acknowledge()
        started(message, delivery)
        assert finish.wait(10)

    service = post.serve({"execute": run}, slots=2)
    post.broker.publish(parcel(post.app, 1, 2, 3))
    until(lambda: len(started.jobs) == 2)
    until(lambda: post.broker.depth(post.app) == 1)
    assert service.slots.apps.busy == 2
    finish.set()
    until(lambda: len(started.jobs) == 3)
    until(lambda: service.slots.apps.busy == 0)


def test_the_planner_does_not_wait_while_all_job_slots_are_busy(post: Post) -> None:
    finish, planned = threading.Event(), threading.Event()
    handlers = {
        "execute": lambda message, delivery: finish.wait(10) and None,
        "plan": lambda message, delivery: planned.set(),
    }
    service = post.serve(handlers, [PLANNER, post.app], slots=1)
    post.broker.publish(parcel(post.app, 1, 2, 3))
    until(lambda: service.slots.apps.busy == 1)
    post.broker.publish([Plan(submissions=("x",))])
    assert planned.wait(5)
    finish.set()


@pytest.mark.parametrize("job_s", [0.001, 0.15], ids=["short jobs", "long jobs"])
def test_a_long_backlog_does_not_block_another_queue(post: Post, job_s: float) -> None:
    ran, pause = Ran(), threading.Event()

    def run(message: Message, delivery: Delivery) -> None:
        delivery.acknowledge()
        ran(message, delivery)
        pause.wait(job_s)

    post.broker.publish(parcel(post.app, *range(30)))
    post.serve({"execute": run}, [post.app, post.other_app], slots=1)
    until(lambda: len(ran.jobs) >= 3)
    post.broker.publish(parcel(post.other_app, 1000))
    until(lambda: 1000 in ran.jobs)
    behind = len(ran.jobs)
    post.broker.purge(post.app)
    assert behind < 30


def test_a_stop_immediately_gives_back_messages_that_have_not_started(post: Post) -> None:
    started, finish = Ran(), threading.Event()

    def run(message: Message, delivery: Delivery) -> None:
        started(message, delivery)
        assert finish.wait(10)

    service = post.serve({"execute": run}, slots=1)
    post.broker.publish(parcel(post.app, *range(6)))
    until(lambda: started.jobs)
    stopping = threading.Thread(target=service.stop, kwargs={"grace_s": 10})
    stopping.start()
    until(lambda: post.broker.depth(post.app) == 5, within_s=2)
    assert stopping.is_alive()
    finish.set()
    stopping.join(5)
    assert not stopping.is_alive()
    assert len(started.jobs) == 1
    assert post.broker.depth(post.app) == 5


def test_a_stopped_service_takes_no_more_messages(post: Post) -> None:
    ran = Ran()
    service = post.serve({"execute": ran})
    service.stop(grace_s=5)
    post.broker.publish(parcel(post.app, 1))
    until(lambda: post.broker.depth(post.app) == 1)
    assert ran.jobs == []


def test_parked_news_is_given_back_when_the_process_stops(post: Post) -> None:
    failed = threading.Event()

    def fail(message: Message, delivery: Delivery) -> None:
        failed.set()
        raise RuntimeError("no")

    service = post.serve({"submit": fail}, [PLANNER])
    post.broker.publish([Submit(submission=Raw(b"{}"), id="one")])
    assert failed.wait(5)
    service.stop(grace_s=5)
    until(lambda: post.broker.depth(PLANNER) == 1)


def test_a_delivery_can_be_given_back_by_its_handler(post: Post) -> None:
    seen: list[bool] = []

    def hand_back_once(message: Message, delivery: Delivery) -> None:
        seen.append(delivery.redelivered)
        if len(seen) == 1:
            delivery.give_back()

    post.serve({"execute": hand_back_once})
    post.broker.publish([Execute(app=post.app, jobs=(JobRound(1, 0),))])
    until(lambda: len(seen) == 2)
    until(lambda: post.broker.depth(post.app) == 0)


def test_queues_without_slots_or_with_reserved_names_are_refused(post: Post) -> None:
    with pytest.raises(BadSetting, match="no slot"):
        post.serve({"execute": Ran()}, slots=0)
    with pytest.raises(BadSetting, match="the ending is reserved"):
        post.serve({"execute": Ran()}, ["etl.XQ"])


def test_what_follows_from_a_message_runs_after_it_in_a_slot_of_its_own(post: Post) -> None:
    """Meanwhile, the slot of the message serves the next one. The other slot is free again after that, even after an
    error."""
    service: Service
    began, may_end = threading.Event(), threading.Event()

    def follow() -> None:
        began.set()
        assert may_end.wait(10)
        raise ValueError("it broke")

    def handle(message: Message, delivery: Delivery) -> FollowUp | None:
        # While the intake requests messages, it holds all free slots for a moment.
        slot = SlotReservation(service.slots.apps)
        if isinstance(message, Plan) and message.submissions == ("a",):
            until(slot.take)
            return FollowUp(post.app, follow, slot)
        return None

    ran = Ran()
    service = post.serve({"plan": handle, "execute": ran}, [PLANNER, post.app], slots=1)
    post.broker.publish([Plan(submissions=("a",))])
    assert began.wait(10)
    post.broker.publish([Plan(submissions=("b",)), *parcel(post.app, 1)])
    until(lambda: post.broker.depth(PLANNER) == 0 and service.slots.control.busy == 0)
    assert (ran.jobs, service.slots.apps.busy) == ([], 1)
    may_end.set()
    until(lambda: ran.jobs == [1] and service.slots.apps.busy == 0)


def test_a_reservation_takes_at_most_one_slot_and_frees_it_once() -> None:
    pool = SlotPool(2)
    freed: list[int] = []
    pool.on_free = lambda: freed.append(pool.busy)
    slot = SlotReservation(pool)
    slot.release()
    assert (slot.take(), slot.take(), pool.busy, freed) == (True, True, 1, [])
    slot.release()
    slot.release()
    assert (pool.busy, freed) == (0, [0])
    pool.close()
    assert not slot.take()
