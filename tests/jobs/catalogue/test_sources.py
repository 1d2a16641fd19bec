"""Loading of several sources into one catalogue, and refusal of invalid sources."""

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.errors import UnknownApp
from tests.jobs.catalogue.sources import DECORATED, JSON, faults, write

pytestmark = pytest.mark.usefixtures("here")


def test_apps_of_several_sources_depend_on_each_other() -> None:
    parent = write("p.json", '{"p": {"job_id": "{day}", "identifiers": {"day": "date"}}}')
    child = write("c.toml", "[c]\njob_id = '{day}'\ndepends_on = {app_name = ['p']}")
    catalogue = load([child, parent])
    assert catalogue.app("c").read_key("2014-06-01") == {"day": 20140601}
    assert catalogue.children_of("p") == ("c",)
    assert catalogue.children_of("c") == ()
    assert catalogue.rank("p") < catalogue.rank("c")
    assert catalogue.queues == ("c", "p")


def test_an_app_that_two_sources_define_is_a_fault() -> None:
    one = write("one.json", '{"a": {"job_id": "{n}"}}')
    two = write("two.json", '{"a": {"job_id": "{n}"}}')
    assert faults(one, two) == [("two.json", "a", "it is defined in one.json already")]


def test_a_definition_that_two_sources_export_is_one_app() -> None:
    write("acme/__init__.py", "from acme.pipelines import first, second")
    write("acme/pipelines.py", DECORATED)
    assert [*load(["acme", "acme.pipelines"])] == ["first", "second.app"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("redis://host/0/key", "redis:// cannot be read here; write the definitions to a .json file"),
        ("apps.txt", "it is none of .json, .py, .toml, .yaml, .yml"),
        ("none.txt", "there is no Python module 'none.txt' here or on the path"),
        ("no/such/place", "there is no such file or folder, and it is not the name of a Python module"),
        ("nowhere_at_all", "there is no Python module 'nowhere_at_all' here or on the path"),
    ],
)
def test_an_invalid_source_is_a_fault(source: str, words: str) -> None:
    write("apps.txt", JSON)
    ((named, app, what),) = faults(source)
    assert (named, app) == (source, "")
    assert words in what


def test_a_source_on_a_server_is_fetched_and_shown_without_its_password() -> None:
    stored = {"redis://user:secret@host/0/apps": JSON, "redis://host/0/more": {"m": '{"job_id": "{n}"}'}}
    catalogue = load([*stored], fetch=stored.__getitem__)
    assert {app.name: app.origin for app in catalogue.values()} == {
        "p": "redis://host/0/apps",
        "c": "redis://host/0/apps",
        "m": "redis://host/0/more",
    }


def test_no_sources_result_in_an_empty_catalogue() -> None:
    assert len(load([])) == 0


def test_an_unknown_app_is_reported_with_the_most_similar_name() -> None:
    catalogue = load([write("a.json", JSON.replace('"p"', '"preprocess"'))])
    with pytest.raises(UnknownApp, match=r"There is no app 'preproces' \(did you mean preprocess\?\)"):
        catalogue.app("preproces")
    assert catalogue.get("preproces") is None
