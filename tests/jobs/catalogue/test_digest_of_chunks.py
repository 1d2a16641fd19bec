"""The digest of an app that is keyed by chunk. It depends on the work of a chunk, not on its time or submission."""

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sluice.jobs.catalogue import load
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")

NEED = {"job_type": "hello", "max_lag": 60}
FILE = """
    {above}
    STAU_CONFIG = {{"chunk_size": 2, {words}}}
    def select_work(**kwargs): return {ids}
    def part(n): return {body}
    def main(work_ids, **kwargs): return map(part, work_ids)
"""


def _declared(**words: Any) -> str:
    apps = {"hello": {"chunk_size": 1}, "a": {"chunk_size": 2, "dependencies": [NEED], **words}}
    return load([write("a.json", json.dumps(apps))]).app("a").digest


@pytest.mark.parametrize(
    "words",
    [
        {"chunk_size": 3},
        {"freshness_by": ["k"]},
        {"dependencies": []},
        {"dependencies": [{**NEED, "custom_kwargs": {"k": 1}}]},
        {"dependencies": [{**NEED, "unique": True}]},
        {"bash_cmd": "true"},
        {"select_work": "posixpath:join"},
    ],
)
def test_the_digest_depends_on_the_work_and_dependencies_of_a_chunk(words: dict[str, Any]) -> None:
    assert _declared(**words) != _declared()


@pytest.mark.parametrize(
    "words",
    [
        {"allow_multiple_jobs": True},
        {"data_sources": ["db"], "data_sinks": ["stdout"]},
        {"default_work_ids": "posixpath:join"},
        {"max_fails": 2, "timeout": "1h", "on_failure": "bisect", "priority": 3},
        {"dependencies": [{**NEED, "max_lag": "1h", "custom_kwargs": {}, "unique": False}]},
    ],
)
def test_the_digest_does_not_depend_on_policy_or_spelling(words: dict[str, Any]) -> None:
    assert _declared(**words) == _declared()


def test_the_digest_does_not_depend_on_the_order_of_kwargs() -> None:
    one, other = ([{**NEED, "custom_kwargs": kwargs}] for kwargs in ({"a": 1, "b": [2]}, {"b": [2], "a": 1}))
    assert _declared(dependencies=one) == _declared(dependencies=other)


def _file(body: str = "n", *, above: str = "", words: str = "", ids: str = "[1]") -> str:
    text = dedent(FILE).format(above=above, words=words, ids=ids, body=body)
    return load([write("a.py", text)]).app("a").digest


def test_the_digest_depends_on_the_whole_text_of_a_stau_file() -> None:
    base = _file()
    assert base == _file()
    assert base != _file("n + 1"), "the code of a called function"
    assert base != _file(above="LIMIT = 3"), "a constant of the module"
    assert base != _file(ids="[2]"), "the selected work IDs"
    assert base != _file(words="'chunk_size': 3")
    assert base != _file(words="'main_func': 'part'")


@pytest.mark.parametrize("words", ["'max_fails': 2", "'data_sinks':\n['db']", "'is_streaming': True,\n\n"])
def test_options_in_a_stau_file_that_do_not_affect_the_work_are_ignored(words: str) -> None:
    assert _file(words=words) == _file()


def test_the_digest_of_a_stau_file_does_not_depend_on_its_schedules() -> None:
    schedule = "from sluice import schedule\nat = [schedule(id='a', app='a', cron='{} 2 * * *')]"
    assert _file(above=schedule.format(0)) == _file(above=schedule.format(30))


def test_an_annotated_stau_config_is_recognized() -> None:
    def digest(words: str) -> str:
        text = f"STAU_CONFIG: dict[str, object] = {{'chunk_size': 2, {words}}}\ndef main(): ..."
        return load([write("a.py", text)]).app("a").digest

    assert digest("'max_fails': 1") == digest("'max_fails': 2")
    assert digest("") != digest("'freshness_by': ['k']")


def test_an_imported_stau_module_keeps_its_digest_when_its_file_changes(here: Path) -> None:
    write("acme.py", dedent(FILE).format(above="", words="", ids="[1]", body="1"))
    before = load(["acme"]).app("acme").digest
    write("acme.py", dedent(FILE).format(above="", words="", ids="[1]", body="2_000"))
    assert load(["acme"]).app("acme").digest == before
    assert (here / "acme.py").exists()


def test_a_file_edited_within_the_same_second_gets_another_digest() -> None:
    assert _file("1") != _file("2")


def _decorated(select: str) -> str:
    text = f"""
        from functools import partial
        from sluice import app

        class Chosen:
            def __call__(self, **kwargs): return [2]

        def ids(**kwargs): return [1]

        @app(chunk_size=2, select_work={select})
        def a(**kwargs): ...
    """
    return load([write("a.py", text)]).app("a").digest


@pytest.mark.parametrize("select", ["ids", "partial(ids)", "Chosen()", "lambda **kwargs: [3]", "'a.py:ids'"])
def test_the_digest_does_not_depend_on_the_memory_address_of_a_function(select: str) -> None:
    assert _decorated(select) == _decorated(select)
    assert _decorated(select) != _decorated("None")


def test_a_function_and_its_path_result_in_the_same_digest() -> None:
    assert _decorated("'a.py:ids'") == _decorated("ids")
