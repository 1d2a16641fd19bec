"""Runner of sagas, in real time and with real stops, and the outcome of a run."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from sluice import Fatal, Retry, Step, Stop, Wait, retry
from sluice.jobs.keys.template import Template
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.policy.retry_delay import Rule
from sluice.jobs.runners import runner_for
from sluice.jobs.runners.saga_run import SagaRunner
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.journal import JournalEntry, JournalReply, MemoryJournal
from sluice.jobs.sagas.spec import Saga
from tests.jobs.runners.runner_bench import Bench, Clock, stores_in


class Scripted(Step):
    def __init__(self, name: str, do: Any = None, undo: Any = None, rule: Rule | None = None) -> None:
        self.name = name
        self.retry = rule or retry.none()
        self._do = do
        self._undo = undo

    def do(self, flight: Any) -> Any:
        return self._do(flight) if callable(self._do) and not isinstance(self._do, type) else self._do

    def undo(self, flight: Any) -> Any:
        return self._undo(flight) if callable(self._undo) and not isinstance(self._undo, type) else self._undo


class Flights:
    """Runs of one flight, which share its journal."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.journal = MemoryJournal()

    def run(self, *steps: Step, policy: Policy | None = None, **words: Any) -> Outcome:
        app = _app(Saga(build=lambda _: steps, **words), policy)
        runner = runner_for(app, self.bench.stores)
        return runner.run(
            self.bench.assign(app),
            stop=self.bench.stop,
            report=lambda done, total: None,
            journal=self.journal,
        )


def _app(saga: Saga, policy: Policy | None = None) -> App:
    return App(
        name="trip",
        origin="a test",
        job_type="saga",
        template=Template.parse("{date}_{client_id}"),
        saga=saga,
        policy=policy or Policy(),
    )


@pytest.fixture
def flights(bench: Bench) -> Flights:
    return Flights(bench)


def _raises(error: BaseException) -> Callable[[Any], None]:
    def fails(_: Any) -> None:
        raise error

    return fails


def test_a_saga_gets_the_saga_runner(bench: Bench) -> None:
    assert isinstance(runner_for(_app(Saga(build=lambda _: [])), stores_in(bench.folder)), SagaRunner)


def test_a_flight_that_succeeds_is_done(flights: Flights) -> None:
    outcome = flights.run(Scripted("seat"), Scripted("meal"))
    assert (outcome.ending, outcome.error) == (Ending.DONE, None)
    assert [entry.name for entry in flights.journal.entries] == ["seat", "meal"]


def test_an_undone_flight_is_an_error_with_the_traceback_of_the_step(flights: Flights) -> None:
    outcome = flights.run(Scripted("seat"), Scripted("meal", do=_raises(ValueError("sold out"))))
    assert outcome.ending is Ending.ERROR
    assert outcome.error is not None
    assert outcome.error.startswith("meal failed: ValueError: sold out\nTraceback")
    assert "in fails" in outcome.error
    assert "pilot.py" not in outcome.error


def test_a_step_that_fails_by_its_answer_has_no_traceback(flights: Flights) -> None:
    assert flights.run(Scripted("seat", do=Fatal("full"))).error == "seat failed: Fatal: full"


def test_a_failed_undo_is_reported_with_the_failure_that_caused_it(
    flights: Flights, worker_log: pytest.LogCaptureFixture
) -> None:
    outcome = flights.run(Scripted("seat", undo=Fatal("closed")), Scripted("meal", do=Fatal("sold out")))
    assert outcome.ending is Ending.UNDO_FAILED
    assert outcome.error == (
        "DISMAL FAILURE: undo of seat failed: Fatal: closed\nmeal failed: Fatal: sold out"
    )
    assert "trip/20140101_7: DISMAL FAILURE: undo of seat failed: Fatal: closed" in worker_log.messages
    assert "ERROR DISMAL FAILURE: undo of seat failed" in outcome.output


def test_a_wait_has_an_event_and_a_timeout(flights: Flights) -> None:
    outcome = flights.run(Scripted("seat", do=Wait("approved", timeout="1h")))
    assert (outcome.ending, outcome.event, outcome.waits_s) == (Ending.SUSPENDED, "approved", 3600)
    flights.journal.tell("approved")
    assert flights.run(Scripted("seat")).ending is Ending.DONE


def test_a_wait_without_arguments_has_neither_event_nor_timeout(flights: Flights) -> None:
    outcome = flights.run(Scripted("seat", do=Wait))
    assert (outcome.ending, outcome.event, outcome.waits_s) == (Ending.SUSPENDED, None, None)


def test_a_flight_that_stops_is_handed_back_and_continues_later(flights: Flights) -> None:
    steps = (Scripted("seat", do=Stop), Scripted("meal"))
    assert flights.run(*steps).ending is Ending.HANDED_BACK
    assert flights.run(*steps).ending is Ending.DONE


def test_the_debug_options_of_the_policy_are_applied(flights: Flights) -> None:
    policy = Policy(debug=Debug(fail_last=True))
    outcome = flights.run(Scripted("seat"), policy=policy)
    assert outcome.error == "seat failed: Fatal: injected by debug, in place of success"


def test_an_aborted_flight_is_undone_and_gives_the_reason(flights: Flights) -> None:
    def called_off(_: Any) -> None:
        flights.journal.abort_reason = "no submission requests it any more"

    outcome = flights.run(Scripted("seat", do=called_off), Scripted("meal"))
    assert outcome.ending is Ending.ERROR
    assert outcome.error == "It was cancelled, and undone from seat on: no submission requests it any more"


def test_a_flight_that_was_taken_over_is_handed_back(flights: Flights) -> None:
    refuses: Callable[[JournalEntry], JournalReply] = lambda _: JournalReply(stands=False)  # noqa: E731  # It replaces a method.
    flights.journal.write = refuses
    outcome = flights.run(Scripted("seat"))
    assert (outcome.ending, outcome.error) == (
        Ending.HANDED_BACK,
        "Its flight was taken over by another worker.",
    )


def test_a_saga_that_cannot_be_built_is_an_error_with_a_reason(flights: Flights) -> None:
    outcome = flights.run(context=_raising_context)
    assert outcome.ending is Ending.ERROR
    assert outcome.error is not None
    assert outcome.error.startswith("Starting it failed: OSError: no desk\nTraceback")
    assert "_raising_context" in outcome.error


def test_a_begun_flight_with_changed_steps_counts_as_a_failed_undo(flights: Flights) -> None:
    flights.run(Scripted("seat", do=Stop), Scripted("meal"))
    outcome = flights.run(Scripted("meal"))
    assert outcome.ending is Ending.UNDO_FAILED
    assert outcome.error == (
        "DISMAL FAILURE: resuming it failed:"
        " Unbuildable: its journal has seat as step 0, but its steps are now meal"
    )


@pytest.mark.parametrize(
    "policy",
    [
        Policy(env={"A": "1"}),
        Policy(cwd="/"),
        Policy(limits=Allowance(processes=1)),
        Policy(keep_output=True),
    ],
)
def test_options_that_need_a_process_are_refused(flights: Flights, policy: Policy) -> None:
    outcome = flights.run(Scripted("seat"), policy=policy)
    assert outcome.ending is Ending.ERROR
    assert "env, cwd, limits or keep_output, which a thread cannot have" in str(outcome.error)
    assert flights.journal.entries == []


def test_a_begun_flight_is_kept_if_an_option_is_refused(flights: Flights) -> None:
    steps = (Scripted("seat", do=Stop), Scripted("meal"))
    flights.run(*steps)
    outcome = flights.run(*steps, policy=Policy(cwd="/"))
    assert outcome.ending is Ending.UNDO_FAILED
    assert str(outcome.error).startswith("DISMAL FAILURE: resuming it failed: BadRequest")
    assert flights.run(*steps).ending is Ending.DONE


def test_without_a_journal_a_flight_is_kept_in_memory(bench: Bench) -> None:
    app = _app(Saga(build=lambda _: [Scripted("seat"), Scripted("meal", do=Fatal("sold out"))]))
    outcome = bench.run(bench.assign(app))
    assert (outcome.ending, outcome.error) == (Ending.ERROR, "meal failed: Fatal: sold out")


def test_log_lines_of_steps_are_in_the_output(flights: Flights) -> None:
    outcome = flights.run(Scripted("seat", do=lambda flight: flight.log.info("booked %d", 7)))
    assert "INFO booked 7" in outcome.output


def test_a_worker_that_leaves_stops_after_the_current_step(flights: Flights) -> None:
    steps = (Scripted("seat", do=lambda _: flights.bench.stop.set()), Scripted("meal"))
    assert flights.run(*steps).ending is Ending.HANDED_BACK
    assert [entry.name for entry in flights.journal.entries] == ["seat"]


def test_a_worker_that_leaves_ends_the_pause_before_a_retry_at_once(bench: Bench) -> None:
    flights, paused = Flights(bench), threading.Event()

    def busy(_: Any) -> Retry:
        paused.set()
        return Retry("busy")

    run = bench.meanwhile(
        lambda: flights.run(Scripted("seat", do=busy, rule=retry.fixed(seconds="1h", times=9)))
    )
    assert paused.wait(10)
    bench.stop.set()
    assert run.result(10).ending is Ending.HANDED_BACK
    assert flights.journal.entries == []


def test_a_flight_over_its_timeout_is_undone(flights: Flights, clock: Clock) -> None:
    undone: list[str] = []

    def long(_: Any) -> None:
        clock.ahead_s += 61

    steps = (
        Scripted("seat", do=long, undo=lambda flight: undone.append(flight.step_name)),
        Scripted("meal"),
    )
    outcome = flights.run(*steps, policy=Policy(timeout_s=60))
    assert outcome.ending is Ending.ERROR
    assert outcome.error == "seat failed: TimedOut: It ran over its timeout of 60 s."
    assert undone == ["seat"]


def test_hooks_of_a_saga_are_called(flights: Flights) -> None:
    told: list[str] = []

    class Notes:
        def end_flight(self, flight: Any, landing: str) -> None:
            told.append(f"{flight.key} {landing}")

    flights.run(Scripted("seat"), hooks=(Notes(),))
    assert told == ["20140101_7 succeeded"]


def _raising_context() -> None:
    raise OSError("no desk")
