"""Behaviour specific to Redis: lost replies, and the sets of messages that workers hold."""

import hashlib
import time
from pathlib import Path

import pytest

from sluice.broker.messages import PLANNER
from sluice.broker.redis import scripts
from tests import clocks
from tests.broker.conftest import Post, Ran, parcel, until
from tests.clocks import Clock


def sha(script: str) -> bytes:
    return hashlib.sha1(script.encode()).hexdigest().encode()


def test_messages_in_a_lost_reply_are_found_and_handled(redis_post: Post) -> None:
    """Finding 2 of the reliability notes: with plain dramatiq they stay in the set of a living worker."""
    proxy, ran = redis_post.proxy(), Ran()
    redis_post.serve({"execute": ran}, slots=4, broker=redis_post.connect(proxy.url, heartbeat_timeout_s=1.2))
    redis_post.broker.publish(parcel(redis_post.app, 0))
    until(lambda: ran.jobs == [0])
    proxy.swallow_reply_to(sha(scripts.TAKE))
    redis_post.broker.publish(parcel(redis_post.app, 1, 2, 3, 4))
    assert proxy.swallowed.wait(5)
    until(lambda: sorted(ran.jobs) == [0, 1, 2, 3, 4])


def test_a_worker_that_leaves_gives_back_messages_in_a_lost_reply(redis_post: Post) -> None:
    """A worker that leaves removes its heartbeat, so no other process would ever find it dead."""
    proxy, ran = redis_post.proxy(), Ran()
    service = redis_post.serve({"execute": ran}, broker=redis_post.connect(proxy.url))
    redis_post.broker.publish(parcel(redis_post.app, 0))
    until(lambda: ran.jobs == [0])
    proxy.swallow_reply_to(sha(scripts.TAKE))
    redis_post.broker.publish(parcel(redis_post.app, 1))
    assert proxy.swallowed.wait(5)
    service.stop(grace_s=5)
    assert ran.jobs == [0]
    redis_post.serve({"execute": ran})
    until(lambda: ran.jobs == [0, 1])


def test_a_publish_with_a_lost_reply_is_not_duplicated(redis_post: Post) -> None:
    """Finding 3 of the reliability notes: the client repeats a command that has already been executed."""
    proxy = redis_post.proxy()
    broker = redis_post.connect(proxy.url)
    broker.publish(parcel(redis_post.app, 1))
    proxy.swallow_reply_to(sha(scripts.PUBLISH))
    broker.publish(parcel(redis_post.app, 2))
    assert proxy.swallowed.is_set()
    assert broker.depth(redis_post.app) == 2


def test_an_acknowledgement_with_a_lost_reply_is_repeated(redis_post: Post) -> None:
    proxy, ran = redis_post.proxy(), Ran()
    redis_post.serve({"execute": ran}, broker=redis_post.connect(proxy.url, heartbeat_timeout_s=1.2))
    proxy.swallow_reply_to(sha(scripts.ACKNOWLEDGE))
    redis_post.broker.publish(parcel(redis_post.app, 1))
    assert proxy.swallowed.wait(5)
    redis_post.broker.publish(parcel(redis_post.app, 2))
    until(lambda: ran.jobs == [1, 2])
    until(lambda: redis_post.redis_keys() == {"__heartbeats__"})


def test_a_redis_that_lost_all_data_is_used_again(redis_post: Post) -> None:
    ran = Ran()
    redis_post.serve({"execute": ran})
    redis_post.broker.publish(parcel(redis_post.app, 1))
    until(lambda: ran.jobs == [1])
    redis_post.forget_everything()
    redis_post.broker.publish(parcel(redis_post.app, 2))
    until(lambda: ran.jobs == [1, 2])


def test_the_planner_gets_a_message_pushed_without_notify_at_once(redis_post: Post) -> None:
    heard: list[float] = []
    redis_post.serve(
        {"tick": Ran(), "submit": lambda message, delivery: heard.append(time.perf_counter())}, [PLANNER]
    )
    late: list[float] = []
    for number in range(5):
        body = f'{{"queue_name":"planner","actor_name":"submit","message_id":"m{number}","kwargs":{{"app":"etl"}}}}'
        rang_at = time.perf_counter()
        redis_post.put(PLANNER, body.encode())
        until(lambda number=number: len(heard) > number)
        late.append(heard[-1] - rang_at)
    assert sorted(late)[2] < 0.1


def test_a_worker_gets_a_message_pushed_without_notify_within_a_second(redis_post: Post) -> None:
    ran = Ran()
    redis_post.serve({"execute": ran})
    body = (
        f'{{"queue_name":"x","actor_name":"execute","args":[],"options":{{}},"message_id":"m",'
        f'"message_timestamp":1,"kwargs":{{"app":"{redis_post.app}","jobs":[[7,0]]}}}}'
    )
    redis_post.put(redis_post.app, body.encode())
    until(lambda: ran.jobs == [7], within_s=1)


def test_a_stopped_service_without_work_leaves_no_keys_in_redis(redis_post: Post) -> None:
    ran = Ran()
    service = redis_post.serve({"execute": ran})
    redis_post.broker.publish(parcel(redis_post.app, 1, 2, 3))
    until(lambda: len(ran.jobs) == 3)
    service.stop(grace_s=5)
    assert redis_post.redis_keys() == set()


def test_messages_of_one_namespace_reach_no_other_namespace(redis_server: str) -> None:
    posts = [Post("redis", redis_server) for _ in range(2)]
    own, other = Ran(), Ran()
    for post, ran in zip(posts, (own, other), strict=True):
        post.serve({"execute": ran}, ["etl"])
    posts[0].broker.publish(parcel("etl", 1, 2, 3))
    until(lambda: sorted(own.jobs) == [1, 2, 3])
    posts[1].broker.publish(parcel("etl", 4))
    until(lambda: other.jobs == [4])
    assert sorted(own.jobs) == [1, 2, 3]
    for post in posts:
        post.end()


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0], ids=["ahead", "behind"])
def test_messages_of_a_killed_process_come_back_even_if_its_clock_was_wrong(
    redis_post: Post, tmp_path: Path, ahead_s: float
) -> None:
    """By its own clock, its last heartbeat is an hour in the future or in the past."""
    clocks.require()
    turned = Clock(tmp_path / "clock")
    turned.put(ahead_s)
    child = redis_post.process(words=turned.environment())
    redis_post.broker.publish(parcel(redis_post.app, 1))
    until(lambda: child.said == ["begin 1"])
    child.kill()
    ran = Ran()
    redis_post.serve({"execute": ran}, broker=redis_post.connect(heartbeat_timeout_s=1.0))
    until(lambda: ran.jobs == [1])


def test_a_process_with_a_clock_that_is_behind_keeps_its_messages(redis_post: Post, tmp_path: Path) -> None:
    """A check that trusted its clock would find it dead. Then other workers would get messages that it still handles.
    The message of a dead process is given back, which shows that the check has run.
    """
    clocks.require()
    turned = Clock(tmp_path / "clock")
    turned.put(-3600)
    late, dead = redis_post.process(words=turned.environment()), redis_post.process()
    redis_post.broker.publish(parcel(redis_post.app, 1, 2))
    until(lambda: late.said and dead.said)
    dead.kill()
    (held,), (given_back,) = late.said, dead.said
    ran = Ran()
    redis_post.serve({"execute": ran}, broker=redis_post.connect(heartbeat_timeout_s=1.0))
    until(lambda: ran.jobs)
    assert [f"begin {job}" for job in ran.jobs] == [given_back]
    job = int(held.split()[1])
    late.let_end(job)
    until(lambda: late.said == [held, f"end {job}"])


def test_dead_letters_are_kept_for_a_week(redis_post: Post) -> None:
    """The next check removes an older dead letter. An unreadable message becomes a dead letter meanwhile."""
    week_ms, ran = 7 * 86_400_000, Ran()
    now_ms = time.time() * 1000
    redis_post.bury(redis_post.app, {"old": now_ms - week_ms - 60_000, "young": now_ms - week_ms + 60_000})
    redis_post.put(redis_post.app, b"nonsense")
    redis_post.serve({"execute": ran}, broker=redis_post.connect(heartbeat_timeout_s=1.0))
    until(lambda: "old" not in redis_post.buried(redis_post.app))
    until(lambda: len(redis_post.buried(redis_post.app)) == 2)
    assert "young" in redis_post.buried(redis_post.app)
