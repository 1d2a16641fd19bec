"""The notifier with real receivers on loopback: hanging and failing ones, secrets, and processes that die."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from sluice.actors.notifier.notifier import LOOK_HOLDS_PERIODS, TOGETHER, Notifier, attempt
from sluice.actors.notifier.senders import Sender
from sluice.jobs.model.job import Ending
from sluice.jobs.notifications import command, webhook
from sluice.jobs.runners.process.group import REAP_S
from sluice.jobs.runners.process.process import GRACE_S
from sluice.ledger.notifications import deliveries
from tests.actors.senders import sender_of
from tests.jobs.receivers import receiving
from tests.world import World, catalogue_of


def sender(catalogue: Mapping[str, Any] = {}, **environment: str) -> Sender:
    return sender_of(catalogue_of(catalogue), threading.Event(), environment)


@contextmanager
def notifying(world: World, sender: Sender) -> Iterator[Callable[[], None]]:
    """Yield a function that starts due attempts and waits for them."""
    notifier = Notifier(world.ledger, sender, world.queue.extend, threading.Event(), period_s=1.0)

    def step() -> None:
        for each in notifier.step():
            each.result(30)

    yield step
    notifier._pool.shutdown()


def fail(world: World, app: str, url: str, keys: str = "1") -> None:
    world.apps(app, notify=[{"on": ["failed"], "webhook": url}])
    for key in keys:
        world.submit(app, key)
        world.finish(f"{app}/{key}", Ending.ERROR)


def rows(world: World, sql: str) -> list[Any]:
    return world.ledger.transact(lambda tx: tx.rows(sql))


def test_an_event_is_posted_once(world: World) -> None:
    with receiving() as receiver, notifying(world, sender(ALERT_URL=receiver.url)) as step:
        fail(world, "a", "${ALERT_URL}")
        step()
        step()
    (body,) = receiver.bodies
    assert (body["app"], body["key"], body["event"], body["error"]) == ("a", "1", "failed", "it broke")
    assert body["link"] == "https://sluice.example.org/jobs/a/1"


def test_a_secret_is_neither_in_the_ledger_nor_in_the_logs(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(lambda _: (500, {})) as receiver, notifying(world, sender(ALERT_URL=receiver.url)) as step:
        fail(world, "a", "${ALERT_URL}")
        step()
    assert "hook" in receiver.url
    assert "a/1 was not delivered to webhook ${ALERT_URL}" in caplog.text
    assert "hook/" not in caplog.text.replace("webhook", "")
    assert receiver.url not in str(rows(world, "SELECT error FROM delivery"))
    assert rows(world, "SELECT target FROM receiver") == [({"webhook": "${ALERT_URL}"},)]


def test_a_secret_is_read_from_a_file(world: World, tmp_path: Any) -> None:
    with receiving() as receiver:
        (tmp_path / "url").write_text(receiver.url + "\n")
        with notifying(world, sender(ALERT_URL_FILE=str(tmp_path / "url"))) as step:
            fail(world, "a", "${ALERT_URL}")
            step()
    assert len(receiver.bodies) == 1


@pytest.mark.parametrize("name", ["ALERT_URL", "SLUICE_LEDGER_URL"])
def test_a_missing_or_forbidden_secret_is_a_failed_attempt(world: World, name: str) -> None:
    fail(world, "a", "${ALERT_URL}")
    world.ledger.transact(
        lambda tx: tx.write(f"UPDATE job SET notify = replace(notify::text, 'ALERT_URL', '{name}')::jsonb")
    )
    with notifying(world, sender(SLUICE_LEDGER_URL="http://127.0.0.1/secret")) as step:
        step()
    ((error,),) = rows(world, "SELECT error FROM delivery")
    assert name in error
    assert "secret" not in error


def test_a_hanging_receiver_delays_no_other_one(world: World) -> None:
    with receiving() as slow, receiving() as quick:
        slow.goes_on.clear()
        fail(world, "a", slow.url, keys="123456789")
        fail(world, "b", quick.url)
        notifier = Notifier(world.ledger, sender(), world.queue.extend, threading.Event(), period_s=0.01)
        notifier.start()
        assert quick.arrived.acquire(timeout=30)
        assert len(slow.bodies) <= TOGETHER
        slow.goes_on.set()
        for _ in range(9):
            assert slow.arrived.acquire(timeout=30)
        notifier.end()
    assert {body["key"] for body in slow.bodies} == set("123456789")


class Steps(Notifier):
    """Notifier that only counts its steps."""

    def __init__(self, world: World, *, period_s: float) -> None:
        super().__init__(world.ledger, sender(), world.queue.extend, threading.Event(), period_s=period_s)
        self.made = threading.Semaphore(0)

    def step(self) -> list[Future[None]]:
        self.made.release()
        return []


def test_a_look_of_the_leader_that_finds_something_causes_a_step_at_once(world: World) -> None:
    notifier = Steps(world, period_s=60.0)
    notifier.start()
    assert notifier.made.acquire(timeout=10)
    notifier.looked(False)
    assert not notifier.made.acquire(timeout=0.1)
    notifier.looked(True)
    assert notifier.made.acquire(timeout=10)
    notifier.end()


def test_the_notifier_looks_itself_unless_the_leader_has_looked_a_moment_ago(
    world: World,
) -> None:
    notifier = Steps(world, period_s=0.1)
    notifier.start()
    assert all(notifier.made.acquire(timeout=10) for _ in range(3)), "no process leads"
    began = monotonic()
    notifier.looked(False)
    while notifier.made.acquire(blocking=False):
        pass
    assert notifier.made.acquire(timeout=10), "the leader looks no more"
    # A step may have begun before the look.
    assert notifier.made.acquire(timeout=10)
    assert monotonic() - began >= (LOOK_HOLDS_PERIODS - 1) * 0.1
    notifier.end()


def test_a_process_that_dies_after_the_post_repeats_it_under_the_same_id(world: World) -> None:
    with receiving() as receiver:
        fail(world, "a", receiver.url)
        world.ledger.transact(lambda tx: deliveries.route(tx, 10))
        (taken,) = world.ledger.transact(lambda tx: deliveries.take(tx, 10, together=1, busy={}))
        assert sender().send(taken) is None
        world.tick(after_s=deliveries.LEASE_S)
        with notifying(world, sender()) as step:
            step()
            step()
    assert len(receiver.bodies) == 2
    assert len({body["id"] for body in receiver.bodies}) == 1


@pytest.mark.parametrize("dies_in", [deliveries.route, deliveries.record])
def test_a_process_that_dies_in_a_transaction_loses_nothing(
    world: World, dies_in: Callable[..., Any]
) -> None:
    with receiving() as receiver:
        fail(world, "a", receiver.url)

        def dying(tx: Any, *words: Any) -> None:
            dies_in(tx, *words)
            raise KeyboardInterrupt

        if dies_in is deliveries.record:
            world.ledger.transact(lambda tx: deliveries.route(tx, 10))
            taken = world.ledger.transact(lambda tx: deliveries.take(tx, 10, together=1, busy={}))
            results = [deliveries.DeliveryAttempt(delivery=taken[0], error=sender().send(taken[0]))]
            with pytest.raises(KeyboardInterrupt):
                world.ledger.transact(lambda tx: dying(tx, results))
            world.tick(after_s=deliveries.LEASE_S)
        else:
            with pytest.raises(KeyboardInterrupt):
                world.ledger.transact(lambda tx: dying(tx, 10))
        with notifying(world, sender()) as step:
            step()
    assert len({body["id"] for body in receiver.bodies}) == 1
    assert rows(world, "SELECT count(*) FROM delivery WHERE delivered_at IS NOT NULL") == [(1,)]


def test_a_lost_record_of_a_later_attempt_wins(world: World) -> None:
    with receiving() as receiver:
        fail(world, "a", receiver.url)
        world.ledger.transact(lambda tx: deliveries.route(tx, 10))
        (first,) = world.ledger.transact(lambda tx: deliveries.take(tx, 10, together=1, busy={}))
        world.tick(after_s=deliveries.LEASE_S)
        (second,) = world.ledger.transact(lambda tx: deliveries.take(tx, 10, together=1, busy={}))
        attempt(world.ledger, second, sender())
        world.ledger.transact(
            lambda tx: deliveries.record(tx, [deliveries.DeliveryAttempt(delivery=first, error="it broke")])
        )
    assert rows(world, "SELECT delivered_at IS NOT NULL, error, attempts FROM delivery") == [(True, None, 2)]


RECEIVERS = {
    "a": {"job_id": "{x}", "bash_cmd": "true", "notify": [{"on": ["failed", "recovered"], "app": "alert"}]},
    "alert": {"job_id": "{event}", "bash_cmd": "true"},
}


def test_an_app_gets_a_job_of_its_own_for_each_event(world: World) -> None:
    world.define(RECEIVERS)
    world.submit("a")
    world.finish("a", Ending.ERROR)
    with notifying(world, sender()) as step:
        step()
        step()
        world.deliver()
        (alert,) = world.ready() - {"a"}
        body = world.field(alert, "kwargs")["notification"]
        assert alert == f"alert/{body['id']}"
        assert (body["app"], body["key"], body["event"], body["error"]) == ("a", "1", "failed", "it broke")
        world.submit("a", rerun="job")
        world.finish("a")
        step()
        world.deliver()
    assert len(world.ready()) == 2


def test_an_app_gets_one_job_although_a_process_died_before_it_recorded_the_event(world: World) -> None:
    world.define(RECEIVERS)
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.ledger.transact(lambda tx: deliveries.route(tx, 10))
    (first,) = world.ledger.transact(lambda tx: deliveries.take(tx, 10, together=1, busy={}))
    world.tick(after_s=deliveries.LEASE_S)
    (second,) = world.ledger.transact(lambda tx: deliveries.take(tx, 10, together=1, busy={}))
    for each in (first, second):
        world.queue.extend(attempt(world.ledger, each, sender()))
    world.deliver()
    assert len(world.ready()) == 1


def paging(command: str) -> dict[str, Any]:
    """Return an app whose failures run a command."""
    rule = {"on": ["failed"], "command": command}
    return {"a": {"job_id": "{x}", "bash_cmd": "true", "notify": [rule]}}


def test_a_command_gets_each_event_once(world: World, tmp_path: Path) -> None:
    apps = paging(f"cat >> {tmp_path}/events")
    world.define(apps)
    world.submit("a")
    world.finish("a", Ending.ERROR)
    with notifying(world, sender(apps)) as step:
        step()
        step()
    body = json.loads((tmp_path / "events").read_text())
    assert (body["app"], body["key"], body["event"], body["error"]) == ("a", "1", "failed", "it broke")
    assert rows(world, "SELECT delivered_at IS NOT NULL, attempts FROM delivery") == [(True, 1)]


def test_the_output_of_a_failed_command_is_kept_and_the_command_is_repeated(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    apps = paging("echo no route; echo to the pager >&2; exit 7")
    world.define(apps)
    world.submit("a")
    world.finish("a", Ending.ERROR)
    with notifying(world, sender(apps)) as step:
        step()
        world.tick(after_s=deliveries.RETRY_S)
        step()
    error = "the command exited with 7: no route\nto the pager"
    assert rows(world, "SELECT error, attempts, dead_at FROM delivery") == [(error, 2, None)]
    assert "not delivered to command echo, it will be repeated: the command exited with 7" in caplog.text


def test_a_command_that_is_not_in_the_definitions_is_not_run(world: World, tmp_path: Path) -> None:
    world.define(paging(f"touch {tmp_path}/run"))
    world.submit("a")
    world.finish("a", Ending.ERROR)
    with notifying(world, sender(paging("true"))) as step:
        step()
    assert rows(world, "SELECT error FROM delivery") == [
        ("the command is not in the definitions of the process that delivers",)
    ]
    assert [*tmp_path.iterdir()] == []


def test_a_command_is_repeated_under_the_same_id_if_its_result_is_lost(world: World, tmp_path: Path) -> None:
    apps = paging(f'echo "$SLUICE_EVENT_ID" >> {tmp_path}/ids')
    world.define(apps)
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.ledger.transact(lambda tx: deliveries.route(tx, 10))
    (taken,) = world.ledger.transact(lambda tx: deliveries.take(tx, 10, together=1, busy={}))
    assert sender(apps).send(taken) is None
    world.tick(after_s=deliveries.LEASE_S)
    with notifying(world, sender(apps)) as step:
        step()
        step()
    ids = (tmp_path / "ids").read_text().split()
    assert ids == [str(taken.event_id)] * 2


def test_the_longest_attempt_is_shorter_than_the_lease_of_a_delivery() -> None:
    assert command.TIMEOUT_S + GRACE_S + REAP_S < deliveries.LEASE_S
    assert webhook.TIMEOUT_S < deliveries.LEASE_S


def test_a_submission_cannot_run_a_command(world: World) -> None:
    world.define({"a": {"job_id": "{x}", "bash_cmd": "true"}, "receivers": {"oncall": {"command": "true"}}})
    for to in ({"command": "true"}, {"receiver": "oncall"}):
        submission = world.submit("a", notify=[{"on": ["failed"], **to}])
        assert "a submission may only notify an app" in world.reason(submission)
