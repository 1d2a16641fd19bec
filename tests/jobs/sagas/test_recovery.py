"""Workers that die, leave, or come back too late. The next one continues from the last entry of the journal."""

from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Stop, Success, Wait, retry
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, Raised, both, puts, raise_or_return


class Sees:
    """Script entry that records the content of the working map at the start of a step."""

    def __init__(self) -> None:
        self.maps: list[dict[str, Any]] = []

    def __call__(self, flight: Any) -> None:
        self.maps.append(flight.working.kept())


# Crashes of a worker.


def test_a_step_interrupted_by_a_crash_begins_again_with_the_earlier_map() -> None:
    sees = Sees()
    air = Air("a b")
    air.scripts["do a"] = [both(sees, puts("abc", "foo"), air.crash), sees]
    assert air.fly().how is FlightEnd.LOST
    assert air.journal.entries == []
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do a, do b"
    assert sees.maps == [{}, {}]


def test_a_step_in_the_journal_is_not_repeated_after_a_crash() -> None:
    sees = Sees()
    air = Air("a b", do_a=[puts("abc", "foo")])
    air.scripts["do b"] = [both(sees, puts("abc", "bar"), air.crash), both(sees, puts("abc", "bar"))]
    assert air.fly().how is FlightEnd.LOST
    assert air.journal.entries[-1].working == {"abc": "foo"}
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do b"
    assert sees.maps == [{"abc": "foo"}, {"abc": "foo"}]
    assert air.journal.entries[-1].working == {"abc": "bar"}


def test_the_switch_and_each_undo_store_the_map_as_it_is_then() -> None:
    sees = Sees()
    air = Air("a", do_a=[puts("key", "foo", Fatal("no"))], undo_a=[both(sees, puts("key", "xyz"))])
    assert air.fly().how is FlightEnd.UNDONE
    assert [entry.working for entry in air.journal.entries] == [{"key": "foo"}, {"key": "xyz"}]
    assert sees.maps == [{"key": "foo"}]


def test_an_undo_interrupted_by_a_crash_begins_again_with_its_earlier_map() -> None:
    sees = Sees()
    air = Air("a", do_a=[puts("key", "foo", Fatal("no"))])
    air.scripts["undo a"] = [both(sees, puts("key", "xyz"), air.crash), sees]
    assert air.fly().how is FlightEnd.LOST
    landing = air.fly()
    assert landing.how is FlightEnd.UNDONE
    assert str(landing.failure) == "Fatal: no"
    assert sees.maps == [{"key": "foo"}, {"key": "foo"}]


def test_a_failure_missing_from_the_journal_has_no_effect() -> None:
    sees = Sees()
    air = Air("a b")
    air.scripts["do b"] = [both(puts("key", 1), air.crash, lambda _: Fatal("no")), sees]
    assert air.fly().how is FlightEnd.LOST
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert sees.maps == [{}]


def test_a_step_repeated_after_a_crash_may_fail_again() -> None:
    air = Air("a")
    air.scripts["do a"] = [both(air.crash, lambda _: Fatal("no")), Fatal("still")]
    air.fly()
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "Fatal: still")
    assert air.called == "do a, do a, undo a"


@pytest.mark.parametrize(
    ("crash_in", "called"),
    [
        ("undo c", "do a, do b, do c, undo c, undo c, undo b, undo a"),
        ("undo b", "do a, do b, do c, undo c, undo b, undo b, undo a"),
        ("undo a", "do a, do b, do c, undo c, undo b, undo a, undo a"),
    ],
)
def test_the_undo_continues_with_the_step_in_which_the_worker_died(crash_in: str, called: str) -> None:
    air = Air("a b c", do_c=[Fatal])
    air.scripts[crash_in] = [air.crash]
    assert air.fly().how is FlightEnd.LOST
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == called


def test_a_flight_with_all_undos_in_the_journal_repeats_nothing() -> None:
    air = Air("a b", do_b=[Fatal("no")])
    air.fly()
    called = air.called
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (FlightEnd.UNDONE, "Fatal: no")
    assert air.called == called


def test_a_flight_with_its_last_step_in_the_journal_has_succeeded() -> None:
    air = Air("a b")
    air.fly()
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b"


def test_a_loop_interrupted_by_a_crash_repeats_only_that_pass() -> None:
    passes = [puts("n", each, Rerun) for each in (1, 2, 3, 4)]
    air = Air("a b")
    air.scripts["do a"] = [*passes[:2], both(puts("n", 3), air.crash), *passes[2:], puts("n", 5, Success)]
    assert air.fly().how is FlightEnd.LOST
    assert air.journal.entries[-1].working == {"n": 2}
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.calls.count("do a") == 6
    assert air.journal.entries[-1].working == {"n": 5}


@pytest.mark.parametrize("deaths", [1, 50])
def test_a_step_survives_any_number_of_crashes(deaths: int) -> None:
    air = Air("a b")
    air.scripts["do a"] = [air.crash] * deaths
    assert air.lands().how is FlightEnd.SUCCEEDED
    assert air.calls == ["do a"] * (deaths + 1) + ["do b"]


def test_the_count_of_tries_begins_again_after_a_crash() -> None:
    air = Air("a")
    air.rules["a"] = retry.fixed(seconds=0, times=10)
    air.scripts["do a"] = [*[Retry] * 9, air.crash, *[Retry] * 10, Success]
    assert air.lands().how is FlightEnd.SUCCEEDED
    assert air.calls == ["do a"] * 21


def test_a_crash_during_a_pause_leaves_the_map_of_the_last_boundary() -> None:
    sees = Sees()
    air = Air("a")
    air.rules["a"] = retry.fixed(seconds=10, times=1)
    air.scripts["do a"] = [both(puts("key", 1), air.crash, lambda _: Retry()), sees]
    assert air.fly().how is FlightEnd.LOST
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert sees.maps == [{}]


def test_the_next_try_keeps_the_map_of_a_failed_try() -> None:
    sees = Sees()
    air = Air("a", do_a=[puts("key", 1, Retry), sees])
    air.rules["a"] = retry.fixed(seconds=0, times=1)
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert sees.maps == [{"key": 1}]


def test_the_next_run_after_a_failed_undo_repeats_that_undo() -> None:
    air = Air("a b", do_b=[Fatal], undo_b=[Fatal])
    assert air.fly().how is FlightEnd.UNDO_FAILED
    assert air.lands().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, undo b, undo b, undo a"


# Workers that come back too late.


@pytest.mark.parametrize("answer", [Success, Fatal, Rerun, Stop, Wait, Raised(OSError("gone"))])
def test_the_answer_of_a_late_worker_is_refused(answer: Any) -> None:
    air = Air("a b")
    air.scripts["do b"] = [both(air.crash, lambda _: raise_or_return(answer))]
    assert air.fly().how is FlightEnd.LOST
    assert air.journal.lines == ["do 0 done"]
    assert air.called == "do a, do b"


def test_a_late_worker_cannot_record_a_failed_undo() -> None:
    air = Air("a", do_a=[Fatal])
    air.scripts["undo a"] = [both(air.crash, lambda _: Fatal())]
    assert air.fly().how is FlightEnd.LOST
    assert air.fly().how is FlightEnd.UNDONE


def test_a_flight_of_another_claim_is_not_run() -> None:
    air = Air("a")
    air.journal.read = lambda: None
    assert air.fly().how is FlightEnd.LOST
    assert air.calls == []
