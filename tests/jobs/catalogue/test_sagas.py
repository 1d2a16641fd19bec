"""The options of a saga, and the changes that result in another digest."""

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sluice import Step, retry, saga
from sluice.jobs.catalogue import load, parse_policy
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import Submission
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.retry_delay import RetryRule
from sluice.jobs.sagas.debug import Debug
from sluice.planner.bubble_up.walk import Walk, require_fit
from tests.jobs.catalogue.sources import faults, write
from tests.planner.definitions import catalogue_of, faults_of

pytestmark = pytest.mark.usefixtures("here")

TRIPS = """
    from sluice import Step, saga, retry

    class Reserve(Step):
        retry = retry.fixed(seconds=2, times=4)
        def do(self, flight): return None

    class Noise:
        def __init__(self, flight=None): ...
        def start_step(self, flight): ...

    def desk():
        return {"open": True}

    @saga(job_id="{customer}_{n}", identifiers={"n": "int"}, hooks=[Noise(), Noise, "bookings:Noise"], context=desk,
          depends_on={"app_name": ["quote"]}, max_fails=2, retry={"seconds": 5}, timeout="1h",
          debug={"fail_at": {0: "retry"}})
    def trip(flight):
        return [Reserve(), Reserve()]

    quote = saga(name="quote", job_id="{customer}_{n}")(lambda flight: [])
"""
DECLARED: dict[str, Any] = {
    "job_type": "saga",
    "function": "bookings:trip",
    "job_id": "{customer}_{n}",
    "hooks": ["bookings:Noise"],
    "context": "bookings:desk",
    "debug": {"fail_at": {"1": "fatal"}, "fail_undo": {"Reserve": "retry"}, "restart_each_step": True},
}


def test_a_decorated_function_is_a_saga(here: Path) -> None:
    app = load([write("bookings.py", TRIPS)]).app("trip")
    assert app.saga is not None
    assert (app.job_type, app.function_path, app.function) == ("saga", f"{here}/bookings.py:trip", None)
    assert [type(step).__name__ for step in app.saga.build(None)] == ["Reserve", "Reserve"]
    assert app.saga.context is not None
    assert app.saga.context() == {"open": True}
    noise, made_each_time, by_path = app.saga.hooks
    assert [type(noise).__name__, made_each_time.__name__, by_path.__name__] == ["Noise"] * 3
    assert app.policy == Policy(
        max_fails=2, retry=RetryRule(delay_s=5), timeout_s=3600, debug=Debug(fail_at={0: "retry"})
    )
    assert app.read_key("ann_7") == {"customer": "ann", "n": 7}


@pytest.mark.parametrize("as_yaml", [False, True])
def test_a_document_defines_a_saga_by_the_path_of_its_function(*, as_yaml: bool) -> None:
    write("bookings.py", TRIPS)
    name = "apps.yaml" if as_yaml else "apps.json"
    app = load([write(name, json.dumps({"a": DECLARED}))]).app("a")
    assert app.saga is not None
    assert app.saga.build is sys.modules["bookings"].trip.function, (
        "the decorated name must lead to its function"
    )
    assert app.saga.hooks == (sys.modules["bookings"].Noise,)
    assert app.saga.context is sys.modules["bookings"].desk
    assert app.function_path == "bookings:trip"
    assert app.policy.debug == Debug(
        fail_at={1: "fatal"}, fail_undo={"Reserve": "retry"}, restart_each_step=True
    )


def test_the_index_of_a_step_may_be_a_number_in_yaml() -> None:
    write("bookings.py", TRIPS)
    text = "a: {job_type: saga, function: bookings:trip, job_id: '{n}', debug: {fail_at: {1: fatal}}}"
    assert load([write("apps.yaml", text)]).app("a").policy.debug == Debug(fail_at={1: "fatal"})


def test_a_saga_has_parents_and_children_like_any_app() -> None:
    catalogue = load([write("bookings.py", TRIPS)])
    assert catalogue.children_of("quote") == ("trip",)
    walk = Walk(catalogue, 0, Submission(app="trip", key="ann_7"))
    assert [str(name) for name in walk.asks()] == ["trip/ann_7"]


def test_a_saga_function_may_have_no_import_path() -> None:
    """The steps run in the worker, which has loaded the function itself."""
    write(
        "made.py",
        "from sluice import saga\ntrips = [saga(name='x', job_id='{n}')(lambda f: [])]\nx = trips[0]\n",
    )
    app = load(["made.py"]).app("x")
    assert app.saga is not None
    assert app.saga.build(None) == []


def test_a_decorated_saga_can_be_called_like_its_function() -> None:
    def steps(flight: object) -> list[Step]:
        return [Step(), Step()] if flight else []

    trip = saga(job_id="{n}")(steps)
    assert len(trip(None)) == 0  # type: ignore[arg-type]  # Its function only tests whether a flight is given.
    assert (trip.function, trip.name, trip.options["job_type"]) == (steps, "steps", "saga")


def test_the_saga_decorator_accepts_no_job_type() -> None:
    with pytest.raises(TypeError, match="job_type"):
        saga(job_id="{n}", job_type="python")


def test_a_saga_accepts_the_same_retry_rule_as_a_step() -> None:
    text = """
        from sluice import saga, retry

        @saga(job_id="{n}", retry=retry.fixed(seconds=2, times=4))
        def trip(flight): return []
    """
    policy = load([write("a.py", text)])["trip"].policy
    assert (policy.max_fails, policy.retry) == (4, retry.fixed(seconds=2, times=4))


def test_the_retry_option_of_a_saga_accepts_no_rule_of_its_own_class() -> None:
    text = """
        from sluice import saga

        class Mine:
            def begin(self, now_s): ...

        @saga(job_id="{n}", retry=Mine())
        def trip(flight): return []
    """
    ((_, app, what),) = faults(write("a.py", text))
    assert app == "trip"
    assert what == "retry: only a step can have a rule of its own class; write retry.fixed(…) or another rule"


def test_an_error_in_the_module_of_a_saga_is_reported_with_its_line() -> None:
    write("broken_trips.py", "\nimport nothing_of_that_name\n")
    ((_, _, what),) = faults(
        write(
            "a.json",
            json.dumps({"a": {**DECLARED, "function": "broken_trips:trip", "hooks": [], "context": None}}),
        )
    )
    assert what.startswith("function: ")
    assert "broken_trips.py, line 2: ModuleNotFoundError" in what


# Options of a submission.


def test_debug_of_a_submission_replaces_that_of_the_app() -> None:
    app = Policy(debug=Debug(fail_last=True))
    asked = parse_policy({"debug": {"fail_do": {"Pay": "fatal"}}})
    assert app.overridden(asked).debug == Debug(fail_do={"Pay": "fatal"}), "instead of the app's own"
    assert app.overridden(parse_policy({"debug": {}})).debug == Debug()


@pytest.mark.parametrize("debug", [None, [], {"fail_at": {"x": "fatal"}}, {"fail_last": 1}, {"fail_at": 1}])
def test_an_invalid_debug_option_is_refused(debug: object) -> None:
    with pytest.raises(BadRequest, match="debug: "):
        parse_policy({"debug": debug})


def _app(**words: Any) -> App:
    return catalogue_of({"a": {"job_id": "{n}", **words}}).app("a")


def test_debug_is_accepted_only_for_sagas() -> None:
    debug = {"debug": {"fail_last": True}}
    write("bookings.py", TRIPS)
    require_fit(_app(job_type="saga", function="bookings:trip"), debug)
    require_fit(_app(bash_cmd="true"), {})
    with pytest.raises(BadRequest, match="debug: a is no saga, so it has no steps that could fail"):
        require_fit(_app(bash_cmd="true"), debug)
    with pytest.raises(BadRequest, match="debug: a is no saga"):
        Walk(
            catalogue_of({"a": {"job_id": "{n}", "bash_cmd": "true"}}),
            0,
            Submission(app="a", key="1", policy={"debug": {"fail_last": True}}),
        )


def test_a_schedule_may_submit_a_saga_with_debug() -> None:
    write("bookings.py", TRIPS)
    schedule = {
        "id": "s",
        "app": "a",
        "key": "ann_{due:%d}",
        "every": "1d",
        "policy": {"debug": {"fail_last": True}},
    }
    saga = {"a": DECLARED, "schedules": [schedule]}
    assert faults_of(saga) == []
    assert catalogue_of(saga).schedules["s"].app == "a"
    ((_, what),) = faults_of({"a": {"job_id": "{c}_{n}", "bash_cmd": "true"}, "schedules": [schedule]})
    assert "policy: debug: a is no saga" in what


# The digest.

MODULE = """
    import json
    from sluice import Step, saga, app

    FARE = {fare}

    def pay(flight): return FARE

    class Own(Step): ...

    class Pay(Own):
        def do(self, flight):
            {pays}
            pay(flight)

    class Other(Step):
        def do(self, flight): return {other}

    @app(job_id="{{n}}")
    def apart(n): return {other}

    @saga(job_id="{{n}}"{words})
    def trip(flight):
        {comment}
        return [Pay()]
"""
SAME = {"fare": "1", "pays": "json.dumps(1)", "other": "1", "words": "", "comment": ""}


def _digest(**changes: str) -> str:
    return load([write("m.py", MODULE.format(**SAME | changes))]).app("trip").digest


@pytest.mark.parametrize(
    "change",
    [
        {"pays": "json.dumps(2)"},
        {"fare": "2"},
        {"comment": "flight.log.info('off')"},
        {"words": ", context=dict"},
    ],
    ids=str,
)
def test_the_digest_of_a_saga_depends_on_the_code_it_uses(change: dict[str, str]) -> None:
    assert _digest(**change) != _digest()


@pytest.mark.parametrize(
    "change",
    [
        {"other": "2"},
        {"words": ", max_fails=3, timeout='1h', debug={'fail_last': True}"},
        {"words": ", hooks=[lambda flight: None]"},
    ],
    ids=str,
)
def test_the_digest_of_a_saga_ignores_unused_code_policy_and_hooks(change: dict[str, str]) -> None:
    assert _digest(**change) == _digest()


def test_the_digest_of_a_saga_does_not_depend_on_line_numbers() -> None:
    before = _digest()
    moved = "# Moved.\n\n" + dedent(MODULE.format(**SAME))
    assert load([write("m.py", moved)]).app("trip").digest == before


def test_a_document_and_a_decorator_give_the_same_digest() -> None:
    write("m.py", MODULE.format(**SAME))
    declared = load(
        [write("a.json", json.dumps({"trip": {"job_type": "saga", "function": "m:trip", "job_id": "{n}"}}))]
    )
    assert declared.app("trip").digest == load(["m.py"]).app("trip").digest
    assert declared.app("trip").code == load(["m.py"]).app("trip").code != ""


def test_the_digest_depends_on_the_text_of_a_context_in_another_module() -> None:
    def digest(text: str) -> str:
        write("elsewhere.py", text)
        app = {"job_type": "saga", "function": "m:trip", "job_id": "{n}", "context": "elsewhere.py:desk"}
        sys.modules.pop("m", None)
        for name in [name for name in sys.modules if name.startswith("sluice_elsewhere")]:
            del sys.modules[name]
        return load([write("a.json", json.dumps({"a": app}))]).app("a").digest

    write("m.py", MODULE.format(**SAME))
    assert digest("def desk(): return 1") != digest("def desk(): return 2")
    assert digest("# Moved.\ndef desk(): return 1") == digest("def desk(): return 1")
