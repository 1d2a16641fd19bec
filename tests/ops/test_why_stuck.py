"""A stuck job. ``sluice why`` names the cause, since when it exists, and the commands that would help."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

import pytest

from sluice.jobs.states import State
from sluice.ops.cli.parser import parse
from tests.ops.site import WORDS, Site
from tests.ops.stuck import CASES, Case, Waits


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.made.__name__}-{case.job}")
def test_the_cause_of_a_stuck_job_is_named(site: Site, case: Case) -> None:
    case.made(site)
    said = site.why(case.job, case.code)
    assert case.because in said["because"]
    told = [_waits(each) for each in said["waits_for"]]
    assert [(*each[:1], *each[2:]) for each in told] == [(*each[:1], *each[2:]) for each in case.waits_for]
    for found, expected in zip(told, case.waits_for, strict=True):
        assert expected.what in found.what
    typed = [each["command"] for each in said["remedies"]]
    assert all(found.startswith(expected) for found, expected in zip(typed, case.remedies, strict=True))
    for command in typed:
        _type(command)
    printed = site.in_words(case.job, code=case.code)
    assert [command for command in typed if f"{command}  # " not in re.sub(" {2,}#", "  #", printed)] == []


def _waits(each: Mapping[str, Any]) -> Waits:
    job = f"{each['app']}/{each['key']}" if "app" in each else ""
    return Waits(each["kind"], each["what"], job, State(each["state"]) if "state" in each else None)


def _type(command: str) -> None:
    """Check that a command can be typed unchanged."""
    program, *words = shlex.split(command)
    assert program == "sluice"
    parse(words)


def test_an_invalid_key_is_refused(site: Site) -> None:
    site.define({"a": WORDS | {"identifiers": {"x": "int"}}})
    assert "'one' is not a key of a" in site.why("a/one", code=2)["error"]["what"]


def test_an_unknown_job_has_an_answer_and_the_exit_code_of_an_error(site: Site) -> None:
    site.chain("a")
    said = site.why("a/1", code=2)
    assert said["because"] == "The ledger has no job a/1: no submission has requested it"
    assert "sluice submit a 1" in site.in_words("a", code=2)


def test_an_unknown_app_is_refused(site: Site) -> None:
    site.chain("fetch")
    error = site.why("fetsh", code=2)["error"]
    assert "did you mean fetch?" in error["what"] + error["advice"]
