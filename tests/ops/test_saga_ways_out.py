"""Sagas that are undone after a cancellation, a deadline or a failure, and the commands for a saga that cannot be
undone.
"""

import time

from sluice.jobs.states import State
from tests.ops.orders import (
    ORDERS,
    approved,
    course,
    drained,
    fatal,
    reads,
    refused,
    saga_of,
    waiting,
    why,
)
from tests.ops.typist import Typist


def test_retry_undo_tries_a_failed_undo_again(orders: Typist) -> None:
    lock = fatal(orders, "6")
    shown = orders.asks("show", "order", "6")
    assert (shown["state"], shown["saga"]["direction"]) == ("fatal", "undo")
    assert (shown["saga"]["failure"]["step"], shown["saga"]["failure"]["message"]) == ("Ship", "not approved")
    assert shown["saga"]["trouble"]["message"] == "the warehouse is locked"
    because, typed = why(orders, "6")
    assert "the undo of step 1 of 4, Reserve, failed: the warehouse is locked" in because
    assert because.endswith("it was being undone, because Ship failed: ValueError: not approved")
    ways = ["sluice saga retry-undo order 6", "sluice saga force-done order 6"]
    assert typed == ["sluice saga show order 6", *ways]
    told = orders.types("saga", "show", "order", "6", "--traceback")
    assert "DISMAL FAILURE" in told.out
    assert 'raise ValueError("not approved")' in told.out
    assert all(way in told.out for way in ways)

    lock.unlink()
    orders.asks("saga", "retry-undo", "order", "6")
    drained(orders)
    shown = orders.asks("show", "order", "6")
    assert (shown["state"], shown["round"]) == ("failed", 0)
    assert course(shown["saga"]).endswith("undo1:done undo0:undo_failed undo0:done")
    assert "undone, because Ship failed: ValueError: not approved" in orders.types("show", "order", "6").out


def test_retry_of_a_fatal_saga_works_as_retry_undo(orders: Typist) -> None:
    lock = fatal(orders, "7")
    lock.unlink()
    said = orders.types("retry", "order", "7")
    assert said.code == 0
    assert "as by `sluice saga retry-undo`" in said.err
    drained(orders)
    assert course(saga_of(orders, "7")).endswith("undo0:undo_failed undo0:done")
    assert "retry-undo" not in orders.types("retry", "order", "7").err
    orders.types("cancel", "order", "7")


def test_force_done_lets_a_failed_undo_count_as_done(orders: Typist) -> None:
    fatal(orders, "8")
    done = orders.asks("saga", "force-done", "order", "8", "--note", "cleared shelf 7")
    assert (done["app"], done["key"], done["forced"]) == ("order", "8", {"step": 0, "name": "Reserve"})
    assert "counts as done already" in refused(orders.types("saga", "force-done", "order", "8", "--json"))
    drained(orders)
    shown = orders.asks("show", "order", "8")
    assert (shown["state"], shown["saga"]["result"]) == ("failed", "forced")
    assert shown["saga"]["journal"][-1]["note"] == f"{done['by']}: cleared shelf 7"
    assert f"done by hand ({done['by']}: cleared shelf 7)" in orders.types("saga", "show", "order", "8").out


def test_a_saga_with_changed_steps_continues_once_they_are_restored(orders: Typist) -> None:
    waiting(orders, "9")
    orders.write("orders.py", ORDERS.replace("[Reserve(), Ask()", "[Ask(), Reserve()"))
    approved(orders, "9")
    drained(orders)
    because, typed = why(orders, "9")
    forced = orders.types("saga", "force-done", "order", "9", "--json")
    orders.write("orders.py", ORDERS)
    assert "its journal has Reserve as step 0, but its steps are now Ask, Reserve, Pack, Ship" in because
    assert typed == ["sluice saga show order 9", "sluice saga retry-undo order 9"]
    assert "could not be rebuilt" in refused(forced)
    orders.asks("saga", "retry-undo", "order", "9")
    drained(orders)
    assert orders.asks("show", "order", "9")["state"] == "succeeded"


def test_a_running_saga_shows_its_step_and_is_undone_when_cancelled(orders: Typist) -> None:
    stuck = orders.write("10.stuck", "")
    orders.types("submit", "order", "10")
    with orders.starts("up"):
        orders.waits_until("order", "10", State.SUSPENDED)
        approved(orders, "10")
        orders.waits_until("order", "10", State.RUNNING)
        reads(orders, "10", "do1:came")
        assert ", at step 3 of 4, after Ask" in why(orders, "10")[0]
        said = orders.types("cancel", "order", "10")
        assert said.out == "order/10 is cancelled; 0 jobs stop, and 1 saga is undone first.\n"
        assert ", and will be undone, because it was cancelled; it is at " in why(orders, "10")[0]
        assert saga_of(orders, "10")["abort_reason"] == "it was cancelled"
        stuck.unlink()
        orders.waits_until("order", "10", State.CANCELLED)
    assert course(saga_of(orders, "10")).endswith("do2:done switch2:done undo2:done undo1:done undo0:done")
    assert why(orders, "10")[0] == "order/10 was cancelled by name, and its finished steps are undone"
    assert "nothing left to cancel" in refused(orders.types("cancel", "order", "10", "--json"))


def test_a_waiting_saga_is_undone_when_its_submission_is_cancelled(orders: Typist) -> None:
    orders.types("submit", "order", "11", "--id", "spring")
    drained(orders)
    assert orders.asks("cancel", "spring") == {"cancelled": 0, "undone_first": 1}
    because, _ = why(orders, "11")
    assert ", and will be undone, because no submission requests it any more" in because
    drained(orders)
    assert orders.asks("show", "order", "11")["state"] == "cancelled"
    assert (
        why(orders, "11")[0]
        == "order/11 was cancelled with submission spring, and its finished steps are undone"
    )


def test_a_saga_is_undone_after_its_end_before(orders: Typist) -> None:
    """If this machine is too busy to begin a saga in time, the next one has more time."""
    for key, within_s in (("12", 10), ("17", 20), ("18", 40)):
        orders.types("submit", "order", key, "--end-before", str(time.time() + within_s))
        drained(orders)
        shown = orders.asks("show", "order", key)
        if course(shown["saga"]):
            break
    assert (shown["state"], shown["saga"]["abort_reason"]) == ("expired", "its end_before has passed")
    assert course(shown["saga"]) == "do0:done do1:awaits switch1:done undo1:done undo0:done"
