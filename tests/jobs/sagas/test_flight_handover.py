"""Workers that stop, or hand a flight back at each boundary. Another worker continues it, and nothing is undone."""

from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Success, retry
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, Raised, both, raise_or_return


@pytest.mark.parametrize("rule", [retry.none(), retry.fixed(seconds=60, times=3)])
@pytest.mark.parametrize("answer", [Retry, Raised(Retry("busy"))])
def test_a_step_that_answers_retry_while_its_worker_stops_is_not_undone(rule: Any, answer: Any) -> None:
    air = Air("a b")
    air.rules["b"] = rule
    air.scripts["do b"] = [both(air.stop, lambda _: raise_or_return(answer))]
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do b"


def test_a_worker_that_stops_during_a_pause_does_not_wait_for_its_end() -> None:
    air = Air("a", do_a=[Retry])
    air.rules["a"] = retry.fixed(seconds="1h", times=1)
    slept = air._pause

    def leaves(pause_s: float) -> bool:
        air.stopping = len(air.pauses) == 3
        return slept(pause_s)

    air._pause = leaves
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.now_s < 60
    assert air.lands().how is FlightEnd.SUCCEEDED


def test_another_worker_continues_the_undo_when_a_worker_stops() -> None:
    air = Air("a b c", do_c=[Fatal])
    air.scripts["undo c"] = [air.stop]
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.called == "do a, do b, do c, undo c"
    assert air.fly().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, do c, undo c, undo b, undo a"


def test_an_undo_that_answers_retry_while_its_worker_stops_has_not_failed() -> None:
    air = Air("a", do_a=[Fatal])
    air.scripts["undo a"] = [both(air.stop, lambda _: Retry())]
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.fly().how is FlightEnd.UNDONE


def test_another_worker_continues_a_loop_without_repeating_its_last_pass() -> None:
    air = Air("a b")
    air.scripts["do a"] = [both(air.stop, lambda _: Rerun()), both(air.stop, lambda _: Success())]
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.journal.lines == ["do 0 again"]
    assert air.fly().how is FlightEnd.HANDED_BACK
    assert air.journal.lines == ["do 0 again", "do 0 done"]
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do a, do b"


def test_the_flight_succeeds_if_the_worker_stops_during_the_last_step() -> None:
    air = Air("a")
    air.scripts["do a"] = [air.stop]
    assert air.fly().how is FlightEnd.SUCCEEDED


def test_the_flight_is_undone_if_the_worker_stops_during_the_last_undo() -> None:
    air = Air("a", do_a=[Fatal])
    air.scripts["undo a"] = [air.stop]
    assert air.fly().how is FlightEnd.UNDONE


# Flights that are handed back at each boundary.


def test_steps_are_made_again_at_each_restart_and_only_the_map_is_kept() -> None:
    made: list[Any] = []

    def remembers(flight: Any) -> None:
        made.append(flight)
        flight.working["n"] = flight.working.get("n", 0) + 1

    air = Air("a b c", do_a=[remembers], do_b=[remembers], do_c=[remembers])
    air.debug = Debug(restart_each_step=True)
    assert air.lands().how is FlightEnd.SUCCEEDED
    assert air.called == "do a, do b, do c"
    assert len({id(each) for each in made}) == air.built == 3
    assert air.journal.entries[-1].working == {"n": 3}


def test_a_failure_is_undone_across_restarts() -> None:
    air = Air("a b c", do_c=[Fatal])
    air.debug = Debug(restart_each_step=True)
    assert air.lands().how is FlightEnd.UNDONE
    assert air.called == "do a, do b, do c, undo c, undo b, undo a"
    assert air.built > 5


def test_a_loop_has_all_its_passes_across_restarts() -> None:
    air = Air("a b", do_a=[Rerun] * 4)
    air.debug = Debug(restart_each_step=True)
    assert air.lands().how is FlightEnd.SUCCEEDED
    assert air.calls == ["do a"] * 5 + ["do b"]
