"""Sagas before they begin: how their definition is shown, and the debug options of a submission."""

from typing import Any

import pytest

from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import Options
from sluice.ops.cli.parser import Parser
from sluice.ops.cli.submission_options import submission_of, submission_options
from tests.ops.typist import Typist

TRIPS = """
from sluice import Step, saga

def desk(): ...

class Noise:
    def end_flight(self, flight, ending): ...

@saga(job_id="{customer}_{n}", context=desk, hooks=[Noise()], max_fails=1, debug={"fail_at": {1: "fatal"}})
def trip(flight): return [Step()]
"""


def _policy(typed: str) -> dict[str, Any]:
    parser = Parser("sluice submit", "")
    submission_options(parser)
    return dict(submission_of(parser.parse_args(["trip", "ann_7", *typed.split()], Options())).policy)


def test_by_default_there_are_no_debug_options() -> None:
    assert _policy("--max-fails 2") == {"max_fails": 2}


def test_each_way_to_fail_has_an_option() -> None:
    typed = (
        "--fail-at 0=retry --fail-at 2=fatal --fail-do Pay=retry --fail-undo Pay=fatal --fail-undo a=b=retry"
    )
    assert _policy(typed) == {
        "debug": {
            "fail_at": {"0": "retry", "2": "fatal"},
            "fail_do": {"Pay": "retry"},
            "fail_undo": {"Pay": "fatal", "a=b": "retry"},
        }
    }
    assert _policy("--restart-each-step --fail-last") == {
        "debug": {"restart_each_step": True, "fail_last": True}
    }


def test_a_debug_option_replaces_the_one_in_the_policy() -> None:
    given = '--policy {"debug":{"fail_last":true},"priority":3}'
    assert _policy(given) == {"debug": {"fail_last": True}, "priority": 3}
    assert _policy(f"{given} --fail-at 1=retry") == {"debug": {"fail_at": {"1": "retry"}}, "priority": 3}


@pytest.mark.parametrize("typed", ["--fail-at 3", "--fail-at =fatal", "--fail-do Pay="])
def test_an_incomplete_debug_option_is_refused(typed: str) -> None:
    with pytest.raises(BadRequest, match="has no result for the step; write it like 1=fatal"):
        _policy(typed)


@pytest.fixture
def trips(offline: Typist) -> Typist:
    offline.write("trips.py", TRIPS)
    return offline


def _asked(trips: Typist, typed: str) -> Any:
    return trips.types("--apps", "trips.py", "--apps", "apps.json", *typed.split(), "--json")


def test_apps_show_has_the_context_and_hooks_of_a_saga(trips: Typist) -> None:
    shown = _asked(trips, "apps show trip").document
    place = str(trips.folder / "trips.py")
    assert (shown["job_type"], shown["runs"]) == ("saga", f"{place}:trip")
    assert shown["saga"] == {"context": f"{place}:desk", "hooks": [f"{place}:Noise"]}
    assert shown["policy"]["debug"] == {"fail_at": {"1": "fatal"}}
    told = trips.types("--apps", "trips.py", "apps", "show", "trip").out
    assert f"context: {place}:desk" in told
    assert f"hooks: {place}:Noise" in told


def test_check_and_graph_accept_a_saga(trips: Typist) -> None:
    assert _asked(trips, "apps check").code == 0
    assert "trip" in trips.types("--apps", "trips.py", "graph").out


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("fetch 20261120_oslo --fail-last", "debug: fetch is no saga, so it has no steps that could fail"),
        ("trip ann_7 --fail-at first=fatal", "fail_at: 'first' is not the index of a step; the first is 0"),
        ("trip ann_7 --fail-do Pay=fatl", "'fatl' is none of retry, fatal (did you mean fatal?)"),
    ],
)
@pytest.mark.parametrize("command", ["submit", "run"])
def test_invalid_debug_options_are_refused_before_anything_starts(
    trips: Typist, command: str, typed: str, words: str
) -> None:
    said = _asked(trips, f"{command} {typed}")
    assert said.code == 2
    assert words in said.document["error"]["what"]


def test_a_saga_with_debug_options_can_be_planned(trips: Typist) -> None:
    trips.write("facts.json", "{}")
    planned = _asked(trips, "plan trip ann_7 --fail-last --facts facts.json").document
    assert [job["ref"] for job in planned["jobs"]] == ["trip#1"]
