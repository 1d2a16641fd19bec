"""Definitions with faults at the command line: the form of each fault, all faults at once, and the exit code.

``tests/jobs/catalogue`` and ``tests/planner/test_definition_faults.py`` have the kinds of fault.
"""

from typing import Any

import pytest

from tests.acceptance.chunk_notation import definitions
from tests.acceptance.command_typist import Clerk
from tests.ops.typist import Said

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
#: Source, app and a part of each fault, in the order of the list.
FAULTS_OF_SOURCES = [
    ("five.py", "", "No module named 'nothing_of_that_name'"),
    ("four.json", "", "the file holds a list; it has to be a mapping"),
    ("one.json", "literal", "has other text than '_'"),
    ("one.json", "orphan", "there is no app 'nobody'"),
    ("three.yaml", "literal", "it is defined in one.json already"),
    ("three.yaml", "typo", "unknown option 'depend_on' (did you mean depends_on?)"),
    ("two.toml", "about", "in a circle: about -> round -> about"),
    ("two.toml", "skipper", "range '5:3' is empty"),
    ("two.toml", "skipper", "valid_if_or: it is empty, so that every job would be skipped"),
]
#: Faulty apps keyed by chunk, in the notation of ``chunk_notation``, and their faults.
CHUNKS = "A=2: B, B(9), C(work_ids=7); B=2: C; C=2: B; D=0: E(-1); E=2: E; F=2: A, F(x=1)"
FAULTS_OF_CHUNKS = [
    ("apps.json", "A", "dependencies: B is listed twice"),
    ("apps.json", "A", "dependencies: C: custom_kwargs: work_ids is set for each chunk"),
    ("apps.json", "B", "in a circle: B -> C -> B"),
    ("apps.json", "D", "chunk_size: 0 is not a whole number"),
    ("apps.json", "D", "dependencies: E: max_lag: -1 is not a number of minutes"),
    ("apps.json", "E", "in a circle: E -> E"),
    ("apps.json", "F", "in a circle: F -> F"),
]
#: One app has a fault, the other has none.
APPS: dict[str, Any] = {"wrong": {"job_id": "{x}", "max_fail": 1}, "right": {"job_id": "{x}"}}


def test_all_faults_of_several_sources_are_listed_at_once(clerk: Clerk) -> None:
    options = [word for name, text in SOURCES.items() for word in ("--apps", clerk.writes(name, text))]
    assert_faults(clerk.types(*options, "apps", "check"), FAULTS_OF_SOURCES)


def test_all_faults_of_apps_by_chunk_are_listed_at_once(clerk: Clerk) -> None:
    source = clerk.defines(definitions(CHUNKS))
    assert_faults(clerk.types("--apps", source, "apps", "check"), FAULTS_OF_CHUNKS)


@pytest.mark.parametrize(
    "words",
    [
        "parents wrong 1",
        "children right 1",
        "plan right 1",
        "graph",
        "submit right 1",
        "run right 1",
        "up --drain",
        "show right 1",
    ],
)
def test_no_command_starts_with_faulty_definitions(clerk: Clerk, words: str) -> None:
    """The definitions are checked before the ledger is opened: here no ledger answers, which is exit code 3."""
    said = clerk.types("--apps", clerk.defines(APPS), *words.split())
    assert (said.code, [fault["app"] for fault in said.document["errors"]]) == (2, ["wrong"])
    assert "Fix the definitions; nothing was started." in said.err


def assert_faults(said: Said, expected: list[tuple[str, str, str]]) -> None:
    """Check that the answer has these faults in this order and no others, as JSON and as text."""
    assert said.code == 2
    found = said.document["errors"]
    assert [(fault["source"], fault["app"]) for fault in found] == [
        (source, app) for source, app, _ in expected
    ]
    for fault, (source, app, words) in zip(found, expected, strict=True):
        assert words in fault["what"]
        assert f"{source}: {app}: " in said.err if app else f"{source}: " in said.err
        assert words in said.err
