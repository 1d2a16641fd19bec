"""A worker dies, leaves, or comes back too late: the next goes on from the last entry of the journal."""

from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Stop, Success, Wait, retry
from sluice.jobs.sagas.landing import Landed
from tests.jobs.sagas.air import Air, Raised, both, puts, raise_or_return


class Sees:
    """Notes what is in the working map when a step begins."""

    def __init__(self) -> None:
        self.maps: list[dict[str, Any]] = []

    def __call__(self, flight: Any) -> None:
        self.maps.append(flight.working.kept())


# Where a worker dies.


def test_a_step_in_which_the_worker_died_begins_again_with_the_map_as_it_was() -> None:
    sees = Sees()
    air = Air("a b")
    air.scripts["do a"] = [both(sees, puts("abc", "foo"), air.crash), sees]
    assert air.fly().how is Landed.LOST
    assert air.journal.entries == []
    assert air.fly().how is Landed.SUCCEEDED
    assert air.called == "do a, do a, do b"
    assert sees.maps == [{}, {}]


def test_a_step_that_was_written_down_is_not_repeated() -> None:
    sees = Sees()
    air = Air("a b", do_a=[puts("abc", "foo")])
    air.scripts["do b"] = [both(sees, puts("abc", "bar"), air.crash), both(sees, puts("abc", "bar"))]
    assert air.fly().how is Landed.LOST
    assert air.journal.entries[-1].working == {"abc": "foo"}
    assert air.fly().how is Landed.SUCCEEDED
    assert air.called == "do a, do b, do b"
    assert sees.maps == [{"abc": "foo"}, {"abc": "foo"}]
    assert air.journal.entries[-1].working == {"abc": "bar"}


def test_the_switch_keeps_the_map_as_the_failed_do_left_it_and_each_undo_as_it_left_it() -> None:
    sees = Sees()
    air = Air("a", do_a=[puts("key", "foo", Fatal("no"))], undo_a=[both(sees, puts("key", "xyz"))])
    assert air.fly().how is Landed.UNDONE
    assert [entry.working for entry in air.journal.entries] == [{"key": "foo"}, {"key": "xyz"}]
    assert sees.maps == [{"key": "foo"}]


def test_an_undo_in_which_the_worker_died_begins_again_with_the_map_of_the_switch() -> None:
    sees = Sees()
    air = Air("a", do_a=[puts("key", "foo", Fatal("no"))])
    air.scripts["undo a"] = [both(sees, puts("key", "xyz"), air.crash), sees]
    assert air.fly().how is Landed.LOST
    landing = air.fly()
    assert landing.how is Landed.UNDONE
    assert str(landing.failure) == "Fatal: no"
    assert sees.maps == [{"key": "foo"}, {"key": "foo"}]


def test_a_failure_that_was_not_written_down_has_not_happened() -> None:
    sees = Sees()
    air = Air("a b")
    air.scripts["do b"] = [both(puts("key", 1), air.crash, lambda _: Fatal("no")), sees]
    assert air.fly().how is Landed.LOST
    assert air.fly().how is Landed.SUCCEEDED
    assert sees.maps == [{}]


def test_it_may_fail_again_when_it_runs_again() -> None:
    air = Air("a")
    air.scripts["do a"] = [both(air.crash, lambda _: Fatal("no")), Fatal("still")]
    air.fly()
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (Landed.UNDONE, "Fatal: still")
    assert air.called == "do a, do a, undo a"


@pytest.mark.parametrize(
    ("crash_in", "called"),
    [
        ("undo c", "do a, do b, do c, undo c, undo c, undo b, undo a"),
        ("undo b", "do a, do b, do c, undo c, undo b, undo b, undo a"),
        ("undo a", "do a, do b, do c, undo c, undo b, undo a, undo a"),
    ],
)
def test_an_undo_goes_on_where_it_was(crash_in: str, called: str) -> None:
    air = Air("a b c", do_c=[Fatal])
    air.scripts[crash_in] = [air.crash]
    assert air.fly().how is Landed.LOST
    assert air.fly().how is Landed.UNDONE
    assert air.called == called


def test_a_flight_that_was_all_undone_when_the_worker_died_is_undone_and_nothing_is_repeated() -> None:
    air = Air("a b", do_b=[Fatal("no")])
    air.fly()
    called = air.called
    landing = air.fly()
    assert (landing.how, str(landing.failure)) == (Landed.UNDONE, "Fatal: no")
    assert air.called == called


def test_a_flight_whose_last_step_was_written_down_when_the_worker_died_has_succeeded() -> None:
    air = Air("a b")
    air.fly()
    assert air.fly().how is Landed.SUCCEEDED
    assert air.called == "do a, do b"


def test_a_loop_in_which_the_worker_died_repeats_that_pass_alone() -> None:
    passes = [puts("n", each, Rerun) for each in (1, 2, 3, 4)]
    air = Air("a b")
    air.scripts["do a"] = [*passes[:2], both(puts("n", 3), air.crash), *passes[2:], puts("n", 5, Success)]
    assert air.fly().how is Landed.LOST
    assert air.journal.entries[-1].working == {"n": 2}
    assert air.fly().how is Landed.SUCCEEDED
    assert air.calls.count("do a") == 6
    assert air.journal.entries[-1].working == {"n": 5}


@pytest.mark.parametrize("deaths", [1, 50])
def test_workers_may_die_over_a_step_as_often_as_they_like(deaths: int) -> None:
    air = Air("a b")
    air.scripts["do a"] = [air.crash] * deaths
    assert air.lands().how is Landed.SUCCEEDED
    assert air.calls == ["do a"] * (deaths + 1) + ["do b"]


def test_the_count_of_tries_begins_anew_after_a_death() -> None:
    air = Air("a")
    air.rules["a"] = retry.fixed(seconds=0, times=10)
    air.scripts["do a"] = [*[Retry] * 9, air.crash, *[Retry] * 10, Success]
    assert air.lands().how is Landed.SUCCEEDED
    assert air.calls == ["do a"] * 21


def test_a_worker_that_died_in_a_pause_leaves_the_map_of_the_last_boundary() -> None:
    sees = Sees()
    air = Air("a")
    air.rules["a"] = retry.fixed(seconds=10, times=1)
    air.scripts["do a"] = [both(puts("key", 1), air.crash, lambda _: Retry()), sees]
    assert air.fly().how is Landed.LOST
    assert air.fly().how is Landed.SUCCEEDED
    assert sees.maps == [{}]


def test_between_two_tries_the_map_keeps_what_the_failed_one_has_put() -> None:
    sees = Sees()
    air = Air("a", do_a=[puts("key", 1, Retry), sees])
    air.rules["a"] = retry.fixed(seconds=0, times=1)
    assert air.fly().how is Landed.SUCCEEDED
    assert sees.maps == [{"key": 1}]


def test_a_death_right_after_a_dismal_failure_runs_the_failed_undo_once_more() -> None:
    air = Air("a b", do_b=[Fatal], undo_b=[Fatal])
    assert air.fly().how is Landed.DISMAL
    assert air.lands().how is Landed.UNDONE
    assert air.called == "do a, do b, undo b, undo b, undo a"


# Whoever comes back too late.


@pytest.mark.parametrize("answer", [Success, Fatal, Rerun, Stop, Wait, Raised(OSError("gone"))])
def test_what_a_late_worker_brings_is_refused(answer: Any) -> None:
    air = Air("a b")
    air.scripts["do b"] = [both(air.crash, lambda _: raise_or_return(answer))]
    assert air.fly().how is Landed.LOST
    assert air.journal.lines == ["do 0 done"]
    assert air.called == "do a, do b"


def test_a_late_worker_cannot_make_a_flight_dismal() -> None:
    air = Air("a", do_a=[Fatal])
    air.scripts["undo a"] = [both(air.crash, lambda _: Fatal())]
    assert air.fly().how is Landed.LOST
    assert air.fly().how is Landed.UNDONE


def test_a_journal_that_is_somebody_elses_is_not_flown() -> None:
    air = Air("a")
    air.journal.read = lambda: None
    assert air.fly().how is Landed.LOST
    assert air.calls == []
