"""Definitions from JSON, TOML and YAML files, and the faults of an unreadable file."""

from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from tests.jobs.catalogue.sources import JSON, TOML, YAML, faults, write

pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize(
    ("path", "text"), [("a.json", JSON), ("a.toml", TOML), ("a.yaml", YAML), ("a.yml", YAML)]
)
def test_each_format_gives_the_same_definitions(path: str, text: str) -> None:
    catalogue = load([write(path, text)])
    assert [*catalogue] == ["p", "c"]
    child = catalogue.app("c")
    assert (child.template.names, child.policy.max_fails, child.origin) == (("day", "n"), 2, path)
    assert [*child.autofill["n"]] == [10, 12, 14, 16, 18]
    assert (child.job_type, catalogue.app("p").bash_cmd) == ("bash", "echo {n}")


def test_dates_of_toml_and_yaml_are_accepted() -> None:
    yaml = "a: {job_id: '{day}', autofill_values: {day: [2014-06-01]}, start_after: 2026-01-01}"
    toml = "[b]\njob_id='{day}'\nautofill_values={day=[2014-06-01]}\nstart_after=2026-01-01T00:00:00Z"
    catalogue = load([write("a.yaml", yaml), write("b.toml", toml)])
    assert [[*app.autofill["day"]] for app in catalogue.values()] == [[20140601], [20140601]]
    assert catalogue.app("a").policy.start_after == catalogue.app("b").policy.start_after
    assert catalogue.app("a").read_key("2014-06-02") == {"day": 20140602}


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("a.json", '{"a": {\n"job_id": }}', "line 2, column 11: not JSON"),
        ("a.json", '{"a": {}, "a": {}}', "'a' is written twice in one mapping"),
        ("a.json", "[]", "the file holds a list; it has to be a mapping"),
        ("a.toml", "[a]\njob_id = \n", "not TOML: Invalid value (at line 2, column 10)"),
        ("a.toml", "[a]\n[a]", "not TOML: Cannot declare ('a',) twice (at line 2, column 3)"),
        ("a.yaml", "a:\n  b: [1\n", "line 3, column 1: not YAML"),
        ("a.yaml", "a:\n  job_id: x\n  job_id: y", "line 3: 'job_id' is written twice in one mapping"),
        ("a.yaml", "a: !!python/object:os.system {}", "not YAML: could not determine a constructor"),
        ("a.yaml", "", "the file holds nothing"),
    ],
)
def test_an_unreadable_text_is_reported_with_its_line(path: str, text: str, words: str) -> None:
    Path(path).write_text(text)
    ((source, app, what),) = faults(path)
    assert (source, app) == (path, "")
    assert words in what


def test_a_group_name_that_yaml_reads_as_a_number_is_accepted() -> None:
    text = """
        p: {job_id: "{n}"}
        c: {job_id: "{n}", depends_on: {1: {app_name: [p]}, g: {app_name: [p], n: ["x"]}}}
    """
    assert [group.name for group in load([write("a.yaml", text)]).app("c").groups] == ["1", "g"]


def test_options_merged_by_yaml_may_be_overridden() -> None:
    text = """
        a: &base {job_id: "{n}", max_fails: 1}
        b: {<<: *base, max_fails: 2}
    """
    assert load([write("a.yaml", text)]).app("b").policy.max_fails == 2


def test_a_missing_or_unreadable_file_is_reported_with_the_reason() -> None:
    Path("latin.json").write_bytes(b'{"\xe4": {}}')
    Path("folder.json").mkdir()
    found = {source: what for source, _, what in faults("none.json", "latin.json", "folder.json", "none.py")}
    assert found["none.json"] == "the file cannot be read: No such file or directory"
    assert found["latin.json"] == "the file is not UTF-8 at byte 2"
    assert found["folder.json"] == "the file cannot be read: Is a directory"
    assert "there is no Python file" in found["none.py"]
