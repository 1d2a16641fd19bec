"""Definitions of work by chunk that cannot be used are refused when they are loaded, whatever is asked of them."""

from typing import Any

import pytest

from tests.acceptance.chunk_notation import definitions
from tests.acceptance.clerk import Clerk

#: Definitions in the notation of ``chunk_notation``; who is at fault, and words of what is said.
FAULTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "a dependency stands there twice, with other lags": (
        "A=2: B(9), B(99); B=2",
        [("A", "dependencies: B stands there twice")],
    ),
    "it stands there twice, each time for itself": (
        "A=2: B(unique), B(unique); B=2",
        [("A", "dependencies: B stands there twice")],
    ),
    "fixed work IDs": (
        "A=2: B(work_ids=7); B=2",
        [("A", "dependencies: B: custom_kwargs: work_ids is what each chunk is given; it cannot be fixed")],
    ),
    "an app that needs itself": ("A=2: A", [("A", "in a circle: A -> A")]),
    "two that need each other": ("A=2: B; B=2: A", [("A", "in a circle: A -> B -> A")]),
    "three in a circle": ("A=2: B; B=2: C; C=2: A", [("A", "in a circle: A -> C -> B -> A")]),
    "two circles": (
        "A=2: B; B=2: A; C=2: D; D=2: C",
        [("A", "in a circle: A -> B -> A"), ("C", "in a circle: C -> D -> C")],
    ),
    "a circle that nobody asked for": ("A=2; B=2: C; C=2: B", [("B", "in a circle: B -> C -> B")]),
    "a circle of what is private": ("A=2: B(unique); B=2: A(unique)", [("A", "in a circle: A -> B -> A")]),
    "no size at all": ("A=0", [("A", "chunk_size: 0 is not a whole number from 1 on")]),
    "sizes of nothing everywhere": (
        "A=0: B; B=0",
        [("A", "chunk_size: 0 is not"), ("B", "chunk_size: 0 is not")],
    ),
    "one size of nothing": ("A=2: B; B=0", [("B", "chunk_size: 0 is not a whole number from 1 on")]),
    "a size below that": ("A=-2", [("A", "chunk_size: -2 is not a whole number from 1 on")]),
    "a lag below zero": (
        "A=2: B(-1); B=2",
        [("A", "dependencies: B: max_lag: -1 is not a number of minutes")],
    ),
    "a lag that is none": (
        "A=2: B(soon); B=2",
        [("A", "dependencies: B: max_lag: 'soon' is not a duration")],
    ),
    "a function that is not there": (
        "A=2 select=nobody",
        [("A", "select_work: tests.acceptance.selections has no function 'nobody'")],
    ),
}
#: One file each, in Stau's way, and what is at fault with it.
FILES: dict[str, tuple[str, str]] = {
    "alone.py": (
        "STAU_CONFIG = {'chunk_size': 1, 'dependencies': [{'job_type': 'z', 'max_lag': 1}]}\ndef main(**_): ...\n",
        "there is no app 'z'",
    ),
    "missing.py": (
        "STAU_CONFIG = {'chunk_size': 1, 'main_func': 'gone'}\n",
        "main_func: the file has no function 'gone'",
    ),
    "renamed.py": (
        "STAU_CONFIG = {'job_type': 'other', 'chunk_size': 1}\ndef main(**_): ...\n",
        "not the name of its file",
    ),
    "sizeless.py": (
        "STAU_CONFIG = {'dependencies': []}\ndef main(**_): ...\n",
        "chunk_size: None is not a whole number",
    ),
    "typo.py": (
        "STAU_CONFIG = {'chunk_size': 1, 'max_fail': 2}\ndef main(**_): ...\n",
        "did you mean max_fails?",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_is_told_with_its_app_and_its_word(clerk: Clerk, name: str) -> None:
    apps, told = FAULTS[name]
    assert_told(clerk, definitions(apps), told)


@pytest.mark.parametrize("missing", ["Z", "Bb"])
def test_an_app_that_is_not_there(clerk: Clerk, missing: str) -> None:
    apps = definitions("A=2: B; B=2")
    apps["A"]["dependencies"].append({"job_type": missing, "max_lag": 1})
    assert_told(clerk, apps, [("A", f"dependencies: there is no app '{missing}'")])


def test_all_of_it_is_told_at_once(clerk: Clerk) -> None:
    apps = definitions("A=2: B, B(9), C(work_ids=7); B=2: C; C=2: B; D=0: E(-1); E=2: E; F=2: A, F(x=1)")
    told = [
        ("A", "dependencies: B stands there twice"),
        ("A", "dependencies: C: custom_kwargs: work_ids is what each chunk is given"),
        ("B", "in a circle: B -> C -> B"),
        ("D", "chunk_size: 0 is not a whole number"),
        ("D", "dependencies: E: max_lag: -1 is not a number of minutes"),
        ("E", "in a circle: E -> E"),
        ("F", "in a circle: F -> F"),
    ]
    assert_told(clerk, apps, told)


@pytest.mark.parametrize(
    "words",
    ["plan A --work-ids 1", "submit A --work-ids 1", "run A --work-ids 1", "run B", "up --drain", "graph"],
)
def test_no_command_starts_on_them(clerk: Clerk, words: str) -> None:
    """Before a ledger is asked: none answers here. What is at fault need not be what is asked for."""
    source = clerk.defines(definitions("A=2; B=2: C; C=2: B; D=0"))
    said = clerk.types("--apps", source, *words.split())
    assert (said.code, [each["app"] for each in said.document["errors"]]) == (2, ["B", "D"])
    assert "Mend them; nothing was started." in said.err


def test_a_folder_of_files_is_looked_through_to_the_end(clerk: Clerk) -> None:
    for name, (text, _) in FILES.items():
        clerk.writes(f"flows/{name}", text)
    said = clerk.types("--apps", "flows", "apps", "check")
    assert said.code == 2
    for name, (_, words) in FILES.items():
        app = name.removesuffix(".py")
        found = [each["what"] for each in said.document["errors"] if name in each["source"]]
        assert any(words in what for what in found), (app, found)


def assert_told(clerk: Clerk, apps: dict[str, Any], told: list[tuple[str, str]]) -> None:
    """These faults in this order, and no others."""
    said = clerk.types("--apps", clerk.defines(apps), "apps", "check")
    assert said.code == 2
    found = said.document["errors"]
    assert [(each["source"], each["app"]) for each in found] == [("apps.json", app) for app, _ in told], found
    for fault, (app, words) in zip(found, told, strict=True):
        assert words in fault["what"]
        assert f"apps.json: {app}: " in said.err
