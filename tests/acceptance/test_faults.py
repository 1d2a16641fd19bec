"""Definitions that cannot be used are refused when they are loaded, with all that is wrong with them."""

import pytest

from tests.acceptance.clerk import Clerk
from tests.acceptance.faults import REFUSALS, WITHIN_LIMITS

SOURCES = {
    "one.json": """
        {"literal": {"job_id": "{date}-x"},
         "orphan": {"job_id": "{date}", "depends_on": {"app_name": ["nobody"]}},
         "round": {"job_id": "{date}", "depends_on": {"app_name": ["about"]}}}
    """,
    "two.toml": """
        [about]
        job_id = "{date}"
        depends_on = { app_name = ["round"] }
        [skipper]
        job_id = "{date}"
        valid_if_or = {}
        autofill_values = { date = "5:3" }
    """,
    "three.yaml": """
        literal: {job_id: "{date}"}
        typo: {job_id: "{date}", depend_on: {app_name: [literal]}}
    """,
    "four.json": "[]",
    "five.py": "import nothing_of_that_name",
}
#: Source, app, and words of the fault, in the order in which they are told.
TOLD = [
    ("five.py", "", "No module named 'nothing_of_that_name'"),
    ("four.json", "", "the file holds a list; it has to be a mapping"),
    ("one.json", "literal", "has other text than '_'"),
    ("one.json", "orphan", "there is no app 'nobody'"),
    ("three.yaml", "literal", "it is defined in one.json already"),
    ("three.yaml", "typo", "unknown word 'depend_on' (did you mean depends_on?)"),
    ("two.toml", "about", "in a circle: about -> round -> about"),
    ("two.toml", "skipper", "range '5:3' is empty"),
    ("two.toml", "skipper", "valid_if_or: it is empty, so that every job would be skipped"),
]


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_used_is_refused_with_its_reason(clerk: Clerk, name: str) -> None:
    apps, app, words = REFUSALS[name]
    said = clerk.types("--apps", clerk.defines(apps), "apps", "check")
    assert said.code == 2
    (fault,) = said.document["errors"]
    assert (fault["source"], fault["app"]) == ("apps.json", app)
    assert words in fault["what"]
    assert f"apps.json: {app}: " in said.err
    assert words in said.err


@pytest.mark.parametrize("name", WITHIN_LIMITS)
def test_what_is_within_the_limits_is_not(clerk: Clerk, name: str) -> None:
    apps = WITHIN_LIMITS[name]
    assert clerk.asks("--apps", clerk.defines(apps), "apps", "check") == {"apps": [*apps]}


def test_everything_wrong_in_several_sources_is_told_at_once(clerk: Clerk) -> None:
    options = [word for name, text in SOURCES.items() for word in ("--apps", clerk.writes(name, text))]
    said = clerk.types(*options, "apps", "check")
    assert said.code == 2
    found = said.document["errors"]
    assert [(fault["source"], fault["app"]) for fault in found] == [(source, app) for source, app, _ in TOLD]
    for fault, (_, _, words) in zip(found, TOLD, strict=True):
        assert words in fault["what"]


@pytest.mark.parametrize(
    "words",
    ["parents a 1", "children a 1", "plan a 1", "graph", "submit a 1", "run a 1", "up --drain", "show a 1"],
)
def test_no_command_starts_on_them(clerk: Clerk, words: str) -> None:
    """Before a ledger is asked: none answers here."""
    source = clerk.defines({"a": {"job_id": "{x}", "max_fail": 1}})
    said = clerk.types("--apps", source, *words.split())
    assert (said.code, said.document["errors"][0]["app"]) == (2, "a")
    assert "Mend them; nothing was started." in said.err
