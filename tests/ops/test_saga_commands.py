"""Commands of an operator that show sagas and send events to them, from the first step to the last."""

import re
import time

from sluice.jobs.states import State
from tests.ops.orders import BEGINS_WITHIN_S, approved, course, drained, refused, saga_of, waiting, why
from tests.ops.typist import Typist


def test_a_saga_waits_until_its_event_comes(orders: Typist) -> None:
    waiting(orders, "1")
    saga = saga_of(orders, "1")
    assert (saga["flight"], saga["direction"], saga["step"], saga["steps"]) == (0, "do", 1, 4)
    assert (saga["name"], saga["result"], saga["waits_for"]["event"]) == ("Ask", "awaits", "approved")
    assert saga["waits_for"]["until"] is None
    assert saga["working"] == {"shelf": 7}
    assert [(each["name"], each["done"], each["total"]) for each in saga["meters"]] == [("asked", 1, 2)]
    because, typed = why(orders, "1")
    assert because == "order/1 is suspended until approved arrives"
    assert typed == ["sluice resume order 1 --event approved", "sluice cancel order 1"]

    assert approved(orders, "1")["became"] == "resumed"
    drained(orders)
    shown = orders.asks("show", "order", "1")
    assert (shown["state"], shown["round"]) == ("succeeded", 0)
    assert course(shown["saga"]) == "do0:done do1:awaits do1:came do2:done do3:done"
    (event,) = shown["saga"]["events"]
    assert (event["name"], event["payload"], event["taken_by"]) == ("approved", {"ok": True}, 1)
    assert "@" in event["by"]


def test_an_early_event_is_kept_and_a_misspelled_one_is_reported(orders: Typist) -> None:
    orders.types("submit", "order", "2")
    drained(orders)
    said = orders.types("resume", "order/2", "--event", "aproved")
    assert (said.code, said.out.partition(";")[0]) == (0, "order/2 waits for approved")
    assert why(orders, "2")[0].endswith("and does not wait for aproved, which has arrived")
    approved(orders, "2")
    drained(orders)

    orders.types("submit", "order", "3", "--start-after", str(time.time() + BEGINS_WITHIN_S))
    with orders.starts("up"):
        orders.waits_until("order", "3", State.WAITING)
        assert approved(orders, "3")["became"] == "kept"
        orders.waits_until("order", "3", State.SUCCEEDED)
    assert course(saga_of(orders, "3")).startswith("do0:done do1:awaits do1:came do2:done")


def test_a_resume_without_an_event_ends_a_wait_without_one(orders: Typist) -> None:
    orders.types("submit", "errand", "1")
    drained(orders)
    found = orders.asks("why", "errand", "1")
    assert found["because"] == "errand/1 is suspended until a resume command arrives"
    assert found["remedies"][0]["command"] == "sluice resume errand 1"
    assert orders.types("resume", "errand", "1").out == "errand/1 continues.\n"
    drained(orders)
    assert orders.asks("show", "errand", "1")["state"] == "succeeded"


def test_a_saga_is_undone_if_its_event_does_not_come_in_time(orders: Typist) -> None:
    waiting(orders, "4", '{"within": "1s"}')
    shown = orders.asks("show", "order", "4")
    assert (shown["state"], course(shown["saga"])) == (
        "failed",
        "do0:done do1:awaits switch1:done undo1:done undo0:done",
    )
    assert shown["saga"]["failure"]["message"] == "approved has not arrived within 1 s"
    assert "approved has not arrived within 1 s" in why(orders, "4")[0]
    assert "done, wait timed out" in orders.types("saga", "show", "order", "4").out


def test_why_shows_until_when_a_saga_waits(orders: Typist) -> None:
    orders.types("submit", "order", "5", "--kwargs", '{"within": "1h"}')
    with orders.starts("up"):
        orders.waits_until("order", "5", State.SUSPENDED)
    because, _ = why(orders, "5")
    said = r"order/5 is suspended until approved arrives, or [-0-9]+ [:0-9]+ UTC, in (59 min|1 h) .+, when it is undone"
    assert re.fullmatch(said, because)
    assert saga_of(orders, "5")["waits_for"]["until"] is not None
    orders.types("cancel", "order", "5")
    drained(orders)


def test_a_saga_that_has_not_begun_has_no_steps_to_show(orders: Typist) -> None:
    orders.types("submit", "order", "13", "--start-after", "2100-01-01")
    with orders.starts("up"):
        orders.waits_until("order", "13", State.WAITING)
    saga = saga_of(orders, "13")
    assert (saga["saga_open"], saga["step"], saga["journal"]) == (False, None, [])
    assert "No step has started." in orders.types("saga", "show", "order", "13").out
    orders.types("cancel", "order", "13")


def test_each_round_is_a_separate_flight(orders: Typist) -> None:
    orders.types("submit", "order", "14", "--kwargs", '{"within": "1s"}', "--max-fails", "1")
    drained(orders)
    shown = orders.asks("show", "order", "14")
    assert (shown["round"], shown["saga"]["flight"]) == (1, 1)
    (before,) = shown["saga"]["earlier"]
    assert (before["number"], before["entries"]) == (0, 5)
    assert before["failure"]["message"] == "approved has not arrived within 1 s"
    assert "undone because" in orders.types("saga", "show", "order", "14").out


def test_an_event_that_is_sent_twice_under_one_id_counts_once(orders: Typist) -> None:
    waiting(orders, "17")
    words = ("resume", "order", "17", "--event", "paid", "--id", "evt_1")
    assert orders.asks(*words)["became"] == "kept"
    assert orders.asks(*words)["became"] == "repeated"
    assert "has already received the event with this id" in orders.types(*words).out
    assert len(orders.asks("saga", "show", "order", "17")["saga"]["events"]) == 1


def test_a_finished_saga_accepts_no_more_events(orders: Typist) -> None:
    waiting(orders, "16")
    approved(orders, "16")
    drained(orders)
    said = orders.types("resume", "order", "16", "--event", "approved", "--json")
    assert "order/16 is succeeded; it does not wait" in refused(said)
    assert "only a fatal saga" in refused(orders.types("saga", "retry-undo", "order", "16", "--json"))


def test_show_of_another_job_has_no_saga(orders: Typist) -> None:
    orders.types("run", "nap", "0")
    assert "saga" not in orders.asks("show", "nap", "0")
