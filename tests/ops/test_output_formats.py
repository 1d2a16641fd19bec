"""Formats of answers: JSON, YAML, only names, and lines that are not shortened."""

import json

import pytest
import yaml

from sluice.ops.cli.parser import format_of
from sluice.ops.documents.formats import as_names
from tests.ops.site import WORDS, Site


@pytest.fixture
def desk(site: Site) -> Site:
    site.define({"fetch": WORDS, "mail": WORDS})
    site.world.submit("fetch", None, keys=["1", "2"], id="one")
    return site


@pytest.mark.parametrize(
    "words", [("ls",), ("show", "fetch", "1"), ("submissions",), ("apps", "show")], ids=" ".join
)
def test_the_formats_for_programs_have_the_same_content(desk: Site, words: tuple[str, ...]) -> None:
    document = json.loads(desk.types(*words, "--json"))
    assert json.loads(desk.types(*words, "-o", "json")) == document
    assert yaml.safe_load(desk.types(*words, "--output=yaml")) == document


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("ls",), "fetch/1\nfetch/2\n"),
        (("show", "fetch", "1"), "fetch/1\n"),
        (("submissions",), "one\n"),
        (("submissions", "one"), "one\n"),
        (("apps", "show"), "fetch\nmail\n"),
        (("schedules", "ls"), ""),
    ],
)
def test_names_can_be_passed_to_another_command(desk: Site, words: tuple[str, ...], names: str) -> None:
    assert sorted(desk.types(*words, "-o", "name").splitlines()) == names.splitlines()


def test_a_job_may_be_named_as_it_is_printed(desk: Site) -> None:
    for word in ("show", "logs", "parents", "children"):
        assert desk.types(word, "fetch/1") == desk.types(word, "fetch", "1")
    assert desk.says("why", "fetch/1")["key"] == desk.says("why", "fetch", "1")["key"] == "1"
    assert desk.says("plan", "fetch/1", "2") == desk.says("plan", "fetch", "1", "2")
    assert desk.says("cancel", "fetch/1")["cancelled"] == 1
    assert desk.says("retry", "fetch/1")["submission"]
    assert desk.says("archive", "fetch/1", "fetch/2", code=2)["error"]["what"]
    assert "two keys" in desk.says("show", "fetch/1", "2", code=2)["error"]["what"]


def test_the_id_of_a_submission_may_have_a_slash(desk: Site) -> None:
    desk.world.submit("mail", "7", id="mail/7")
    assert desk.says("cancel", "mail/7") == {"cancelled": 1}
    assert "fetch/1 is cancelled" in desk.types("cancel", "fetch/1")


def test_a_wide_answer_has_every_row(desk: Site) -> None:
    desk.world.submit("mail", None, keys=[str(key) for key in range(40)])
    assert "more (--all)" in desk.types("plan", "mail", *map(str, range(40)))
    assert desk.types("plan", "mail", *map(str, range(40)), "-o", "wide") == desk.types(
        "plan", "mail", *map(str, range(40)), "--all"
    )


def test_a_graph_has_a_file_or_a_format(desk: Site) -> None:
    assert set(json.loads(desk.types("graph", "-o", "json"))) == {"nodes", "edges"}
    assert desk.types("graph", "-o", "name") == "fetch\nmail\n"


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("ls --json", "json"),
        ("ls -o yaml", "yaml"),
        ("-oname ls", "name"),
        ("ls --output wide", "wide"),
        ("graph -o apps.svg", None),
        ("submit fetch wide json", None),
        ("ls -o", None),
        ("ls -wo json", "json"),
        ("ls -wqojson", "json"),
        ("ls -no json", None),
        ("", None),
    ],
)
def test_the_format_is_known_before_the_arguments_are_parsed(words: str, form: str | None) -> None:
    assert format_of(words.split()) == form


def test_the_name_of_a_row_is_its_id_before_its_app() -> None:
    assert as_names({"total": 1, "rows": [{"id": "a", "app": "x"}, {"number": 7}]}) == "a\n"
    assert as_names([]) == ""
