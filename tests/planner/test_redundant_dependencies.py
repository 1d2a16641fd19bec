"""Redundant dependencies: which are found, and that each of them adds no job that is needed first."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.redundant_dependencies import redundant_dependencies
from sluice.jobs.model.names import JobName
from tests.planner.definitions import catalogue_of, parents
from tests.planner.drawn_definitions import POOL, Words, loaded, subset, tried_keys

_LISTS = {"autofill_values": {"y": ["u", "v"]}}


def _app(template: str, needs: Iterable[str] = (), **words: Any) -> Words:
    depends = {"depends_on": {"app_name": [*needs]}} if needs else {}
    return {"job_id": template, "bash_cmd": "true", **depends, **words}


def _found(apps: dict[str, Words]) -> list[str]:
    return [" ".join(each.path) for each in redundant_dependencies(catalogue_of(apps))]


def test_the_path_without_the_dependency_is_shown() -> None:
    apps = {
        "a": _app("{x}"),
        "b": _app("{x}", "a"),
        "c": _app("{x}", "b"),
        "d": _app("{x}_{y}", "ac", **_LISTS),
        "e": _app("{x}_{y}", "bd", **_LISTS),
    }
    assert _found(apps) == ["d c b a", "e d c b"]


def _triangle(a: Words | None = None, b: Words | None = None, c: Words | None = None) -> dict[str, Words]:
    """Return definitions in which the dependency of c on a is redundant, with some options replaced."""
    return {
        "a": _app("{x}") | (a or {}),
        "b": _app("{x}", "a") | (b or {}),
        "c": _app("{x}", "ab") | (c or {}),
    }


_A, _B = {"app_name": ["a"]}, {"app_name": ["b"]}
_ONE, _STR = {"autofill_values": {"x": ["1"]}}, {"identifiers": {"x": "str"}}
SILENT = {
    "b has fewer jobs": _triangle(b=_ONE),
    "b accepts fewer values": _triangle(_STR, {"identifiers": {"x": ["1", "2"]}}, _STR),
    "b may be skipped": _triangle(b={"valid_if_or": {"x": ["1"]}}),
    "b needs another job": _triangle(b={"depends_on": _A | {"x": ["1"]}}),
    "b names a job": _triangle(b=_ONE | {"depends_on": _A | {"job_id": ["1"]}}),
    "b only needs a start": _triangle(b={"depends_on": _A | {"when": "running"}}),
    "b has alternatives": _triangle(b={"depends_on": {"one": _A, "two": _A | {"when": "failed"}}}),
    "c has alternatives": _triangle(c={"depends_on": {"one": _A, "two": _B}}),
    "c needs an end": _triangle(c={"depends_on": {"g": [_A | {"when": "finished"}, _B]}}),
    "c needs a recent success": _triangle(c={"depends_on": {"g": [_A | {"max_lag": "1h"}, _B]}}),
    "c names a twice": _triangle(c={"depends_on": {"g": [_A, _B, _A | {"when": "running"}]}}),
    "c needs all": _triangle(*({"job_id": "{x}_{y}", **_LISTS},) * 2),
}


@pytest.mark.parametrize("apps", SILENT.values(), ids=SILENT)
def test_a_dependency_that_is_not_certainly_redundant_is_not_reported(apps: dict[str, Words]) -> None:
    assert _found(_triangle()) == ["c b a"]
    assert _found(apps) == []


@st.composite
def _drawn(draw: st.DrawFn) -> dict[str, Words]:
    """Draw apps of which many depend on several others with the same key."""
    apps: dict[str, Words] = {}
    for place in range(draw(st.integers(3, 5))):
        app = _app(draw(st.sampled_from(["{x}", "{x}_{y}"])), identifiers={"x": "int"})
        mapping: Words = {"app_name": draw(subset([*apps])) if apps else []}
        if draw(st.integers(0, 3)) == 0:
            app["autofill_values"] = {"x": draw(subset(POOL["x"]))}
        if draw(st.integers(0, 4)) == 0:
            mapping["x"] = draw(subset(POOL["x"]))
        if "y" in app["job_id"]:
            app["autofill_values"] = app.get("autofill_values", {}) | {"y": ["u", "v"]}
        if mapping["app_name"]:
            app["depends_on"] = mapping
        apps[f"app{place}"] = app
    return apps


@given(_drawn())
def test_a_redundant_dependency_needs_no_other_jobs(drawn: dict[str, Words]) -> None:
    catalogue = loaded(drawn)
    for found in redundant_dependencies(catalogue):
        for key in tried_keys(catalogue.app(found.app)):
            name = JobName(found.app, key)
            direct = {each for each in _needs(catalogue, name) if each.app == found.parent}
            assert direct <= _below(catalogue, name, found.path[1:])


def _needs(catalogue: Catalogue, name: JobName) -> set[JobName]:
    return {parent for group in parents(catalogue, name).values() for parent in group}


def _below(catalogue: Catalogue, name: JobName, path: Iterable[str]) -> set[JobName]:
    """Return the jobs at the end of a path of apps."""
    reached = {name}
    for app in path:
        reached = {parent for each in reached for parent in _needs(catalogue, each) if parent.app == app}
    return reached
