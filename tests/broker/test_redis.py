"""What is Redis's own: answers that get lost, and the sets of messages that workers hold."""

import hashlib
import time

from broker.messages import PLANNER
from broker.redis import scripts
from tests.broker.conftest import Post, Ran, parcel, until


def sha(script: str) -> bytes:
    return hashlib.sha1(script.encode()).hexdigest().encode()


def test_messages_whose_way_here_was_cut_are_found_and_run(redis_post: Post) -> None:
    """Finding 2 of the reliability notes: with plain dramatiq they stay in the set of a worker that lives."""
    proxy, ran = redis_post.proxy(), Ran()
    redis_post.serve({"execute": ran}, slots=4, broker=redis_post.connect(proxy.url, heartbeat_timeout_s=1.2))
    redis_post.broker.publish(parcel(redis_post.app, 0))
    until(lambda: ran.jobs == [0])
    proxy.swallow_reply_to(sha(scripts.TAKE))
    redis_post.broker.publish(parcel(redis_post.app, 1, 2, 3, 4))
    assert proxy.swallowed.wait(5)
    until(lambda: sorted(ran.jobs) == [0, 1, 2, 3, 4])


def test_a_publish_whose_answer_was_cut_is_not_doubled(redis_post: Post) -> None:
    """Finding 3: the client repeats what has happened already."""
    proxy = redis_post.proxy()
    broker = redis_post.connect(proxy.url)
    broker.publish(parcel(redis_post.app, 1))
    proxy.swallow_reply_to(sha(scripts.PUBLISH))
    broker.publish(parcel(redis_post.app, 2))
    assert proxy.swallowed.is_set()
    assert broker.depth(redis_post.app) == 2


def test_an_acknowledgement_whose_answer_was_cut_is_repeated(redis_post: Post) -> None:
    proxy, ran = redis_post.proxy(), Ran()
    redis_post.serve({"execute": ran}, broker=redis_post.connect(proxy.url, heartbeat_timeout_s=1.2))
    proxy.swallow_reply_to(sha(scripts.ACKNOWLEDGE))
    redis_post.broker.publish(parcel(redis_post.app, 1))
    assert proxy.swallowed.wait(5)
    redis_post.broker.publish(parcel(redis_post.app, 2))
    until(lambda: ran.jobs == [1, 2])
    until(lambda: redis_post.redis_keys() == {"__heartbeats__"})


def test_a_redis_that_forgets_everything_is_used_again(redis_post: Post) -> None:
    ran = Ran()
    redis_post.serve({"execute": ran})
    redis_post.broker.publish(parcel(redis_post.app, 1))
    until(lambda: ran.jobs == [1])
    redis_post.forget_everything()
    redis_post.broker.publish(parcel(redis_post.app, 2))
    until(lambda: ran.jobs == [1, 2])


def test_a_stranger_who_does_not_ring_is_heard_at_once_by_the_planner(redis_post: Post) -> None:
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


def test_a_stranger_who_does_not_ring_is_heard_soon(redis_post: Post) -> None:
    ran = Ran()
    redis_post.serve({"execute": ran})
    body = (
        f'{{"queue_name":"x","actor_name":"execute","args":[],"options":{{}},"message_id":"m",'
        f'"message_timestamp":1,"kwargs":{{"app":"{redis_post.app}","jobs":[[7,0]]}}}}'
    )
    redis_post.put(redis_post.app, body.encode())
    until(lambda: ran.jobs == [7], within_s=1)


def test_nothing_is_left_behind_when_all_is_done(redis_post: Post) -> None:
    ran = Ran()
    service = redis_post.serve({"execute": ran})
    redis_post.broker.publish(parcel(redis_post.app, 1, 2, 3))
    until(lambda: len(ran.jobs) == 3)
    service.stop(grace_s=5)
    assert redis_post.redis_keys() == set()


def test_what_is_published_in_one_namespace_is_seen_in_no_other(redis_server: str) -> None:
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
