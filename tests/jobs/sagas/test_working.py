"""The working map: JSON values by name, copied on their way in and out."""

import threading
from typing import Any

import pytest

from sluice import Fatal
from sluice.jobs.sagas.flight import BYTES_MAX, Working
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, puts


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -7, 2**63 - 1, 1.5, "", "ü\n\\u0000", [], [1, [2, None]], {}, {"a": {"b": [1]}}],
)
def test_a_stored_value_is_read_back_unchanged(value: Any) -> None:
    working = Working()
    working["x"] = value
    assert working["x"] == value
    assert type(working["x"]) is type(value)
    assert Working(working.kept())["x"] == value


def test_a_tuple_becomes_a_list() -> None:
    working = Working({"pair": (1, 2)})
    assert working["pair"] == [1, 2]


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        b"bytes",
        1j,
        float("nan"),
        float("inf"),
        2**63,
        "a\0b",
        ["a\0b"],
        {"a\0": 1},
        "\ud800",
        {1: "one"},
        Working,
        lambda: 1,
    ],
)
def test_an_unstorable_value_is_refused_and_the_map_stays_unchanged(value: Any) -> None:
    working = Working({"x": 1})
    for name in ("x", "y"):
        with pytest.raises((TypeError, ValueError), match=name):
            working[name] = value
    assert working.kept() == {"x": 1}


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nests too deeply"):
        Working()["x"] = endless


@pytest.mark.parametrize("name", [1, None, b"x", ("a",)])
def test_names_must_be_texts(name: Any) -> None:
    with pytest.raises(TypeError, match="texts as names"):
        Working()[name] = 1


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_a_ledger_cannot_store_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="the ledger cannot store"):
        Working()[name] = 1


def test_changing_a_value_after_storing_it_does_not_change_the_map() -> None:
    seats = [1]
    working = Working({"seats": seats})
    seats.append(2)
    assert working["seats"] == [1]


def test_changing_a_value_after_reading_it_does_not_change_the_map() -> None:
    working = Working({"seats": [1]})
    working["seats"].append(2)
    assert working["seats"] == [1]


def test_the_working_map_is_a_mutable_mapping() -> None:
    working = Working({"a": 1, "b": None})
    assert (list(working), len(working), "b" in working, "c" in working) == (["a", "b"], 2, True, False)
    assert (working.get("c"), working.setdefault("c", 3), working.pop("a")) == (None, 3, 1)
    del working["b"]
    assert repr(working) == "Working({'c': 3})"
    assert working == {"c": 3}
    with pytest.raises(KeyError):
        working["a"]
    with pytest.raises(KeyError):
        del working["a"]


def test_the_working_map_has_a_size_limit() -> None:
    working = Working()
    half = "x" * (BYTES_MAX // 2 - 100)
    working["a"] = half
    working["b"] = half
    with pytest.raises(ValueError, match="more than 16,777,216 bytes"):
        working["c"] = half
    working["b"] = "less"
    working["c"] = half
    del working["c"]
    working["d"] = half
    assert set(working) == {"a", "b", "d"}


def test_names_count_towards_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.jobs.sagas.flight.BYTES_MAX", 100)
    Working()["x" * 99] = 1
    with pytest.raises(ValueError, match="would have more than 100 bytes"):
        Working()["x" * 100] = 1


def test_a_map_accepts_a_hundred_thousand_values() -> None:
    working = Working()
    for number in range(100_000):
        working[str(number)] = number
    assert len(working.kept()) == 100_000


def test_the_map_can_be_copied_while_another_thread_changes_it() -> None:
    working, done = Working(), threading.Event()

    def changes() -> None:
        while not done.is_set():
            working.update({str(number): number for number in range(100)})
            working.clear()

    thread = threading.Thread(target=changes)
    thread.start()
    try:
        assert all(len(working.kept()) <= 100 for _ in range(3000))
    finally:
        done.set()
        thread.join()


def test_the_function_that_makes_the_steps_cannot_read_the_map() -> None:
    air = Air()
    air.build = lambda flight: flight.working["seat"]
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert str(landing.failure) == (
        "BadRequest: flight.working belongs to the steps; the saga's function must return the same steps each time."
    )


def test_a_step_that_stores_an_unstorable_value_fails_and_the_map_stays_unchanged() -> None:
    air = Air("a b", do_a=[puts("seat", 7)], do_b=[puts("seat", object())])
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert str(landing.failure).startswith("ValueError: 'seat' cannot be kept in the journal")
    assert all(entry.working == {"seat": 7} for entry in air.journal.entries)


def test_a_failed_flight_keeps_the_map_of_its_last_undo() -> None:
    air = Air("a", do_a=[puts("key", "foo", Fatal)], undo_a=[puts("key", "xyz")])
    air.fly()
    assert air.journal.entries[-1].working == {"key": "xyz"}
