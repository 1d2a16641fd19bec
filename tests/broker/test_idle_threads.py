"""Queue at which idle worker threads wait."""

from queue import Empty
from threading import Thread

import pytest

from sluice.broker.consumer.inbox import WorkQueue


def _fetch(queue: WorkQueue, found: list[int | None]) -> Thread:
    def work() -> None:
        try:
            found.append(queue.get(timeout=0.001))
        except Empty:
            found.append(None)

    thread = Thread(target=work)
    thread.start()
    return thread


def test_a_waiting_thread_gets_a_message_that_comes_after_its_timeout() -> None:
    queue, found = WorkQueue(), list[int | None]()
    thread = _fetch(queue, found)
    thread.join(0.05)
    assert thread.is_alive(), "the time limit is no reason to look"
    queue.put(2)
    queue.put(1)
    thread.join()
    assert found in ([1], [2])
    assert queue.get() == 3 - (found[0] or 0)


def test_closing_wakes_all_threads_and_a_closed_queue_still_returns_messages() -> None:
    queue, found = WorkQueue(), list[int | None]()
    threads = [_fetch(queue, found) for _ in range(3)]
    queue.close()
    for thread in threads:
        thread.join()
    assert found == [None, None, None]
    queue.put(1)
    assert queue.get() == 1
    with pytest.raises(Empty):
        queue.get()


def test_get_nowait_does_not_wait() -> None:
    queue = WorkQueue()
    with pytest.raises(Empty):
        queue.get_nowait()
    queue.put(1)
    assert queue.get_nowait() == 1
