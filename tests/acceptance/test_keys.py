"""Keys as they are typed: their canonical spelling, or the reason why they are refused."""

from typing import Any

import pytest

from tests.acceptance.command_typist import Clerk

APPS: dict[str, Any] = {
    "app2": {
        "job_id": "{date}_{client_id}_{collection_name}",
        "identifiers": {
            "date": "date",
            "client_id": "int",
            "collection_name": "tests.planner.definition_functions:collection",
        },
    },
    "custom": {
        "job_id": "{date}_{client_id}_{unvalidated_field}",
        "identifiers": {"date": "date", "client_id": "int"},
    },
    "colours": {"job_id": "{n}_{colour}", "identifiers": {"n": "int", "colour": ["red", "blue"]}},
    "B": {"job_id": "{n}", "identifiers": {"n": "int"}},
    "A": {"job_id": "{n}", "identifiers": {"n": "int"}},
}
APPS["B"]["depends_on"] = {"app_name": ["A"]}

#: App and key as typed, and the canonical key.
CANONICAL = {
    "app2 20140606_1111_profile": "20140606_1111_profile",
    "app2 20140606_1111_profile_x": "20140606_1111_profile_x",
    "app2 2014-06-06_01111_profile": "20140606_1111_profile",
    "app2 20140606_+7_content": "20140606_7_content",
    "app2 20140606_-0_content": "20140606_0_content",
    "custom 20130101_876_a_b_c": "20130101_876_a_b_c",
    "custom 20130101_876_equal2me": "20130101_876_equal2me",
    "custom 20130101_876_007": "20130101_876_007",
    "colours 007_red": "7_red",
    "B 007": "7",
    "B -7": "-7",
}
#: App and key as typed, and a part of the message.
REFUSED = {
    "app2 20140606_1111": "it has 2 of 3 identifiers",
    "app2 20140606_1111_": "at collection_name, it is empty",
    "app2 20140606_11aa_profile": "at client_id, '11aa' is not a whole number",
    "app2 20140606__profile": "at client_id, '' is not a whole number",
    "app2 20149606_1111_profile": "at date, '20149606' is not a day",
    "app2 20141299_111_profile": "at date, '20141299' is not a day",
    "app2 20140230_1111_profile": "at date, '20140230' is not a day",
    "app2 2014066_1111_profile": "at date, '2014066' is not a day",
    "app2 20141212_111_Profile": "refused 'Profile': it is no collection",
    "colours 7_green": "at colour, 'green' is none of red, blue",
    "colours 7_red_x": "at colour, 'red_x' is none of red, blue",
    "B seven": "at n, 'seven' is not a whole number",
    "B 7.0": "at n, '7.0' is not a whole number",
    "B 7_": "at n, '7_' is not a whole number",
    "b 7": "There is no app 'b'",
}


@pytest.mark.parametrize("typed", CANONICAL)
def test_a_key_has_one_spelling(clerk: Clerk, typed: str) -> None:
    app, key = typed.split()
    source, facts = clerk.defines(APPS), clerk.writes("facts.json", "{}")
    document = clerk.asks("--apps", source, "plan", "--facts", facts, "--", app, key)
    assert (document["jobs"][-1]["app"], document["jobs"][-1]["key"]) == (app, CANONICAL[typed])


@pytest.mark.parametrize("typed", REFUSED)
def test_a_key_that_does_not_fit_is_refused_with_its_reason(clerk: Clerk, typed: str) -> None:
    assert_refused(clerk, "parents", typed)


@pytest.mark.parametrize("typed", ["B seven", "b 7"])
@pytest.mark.parametrize("command", ["plan", "submit", "show"])
def test_commands_refuse_an_invalid_key_before_they_open_the_ledger(
    clerk: Clerk, command: str, typed: str
) -> None:
    assert_refused(clerk, command, typed)


def test_parents_and_children_are_listed_by_their_canonical_keys(clerk: Clerk) -> None:
    source = ("--apps", clerk.defines(APPS))
    assert clerk.asks(*source, "parents", "B", "007") == [{"group": "default", "jobs": [["A", "7"]]}]
    assert clerk.asks(*source, "children", "A", "+7") == [["B", "7"]]


def test_the_delimiter_of_keys_can_be_set(clerk: Clerk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_KEY_DELIMITER", "-")
    source = clerk.defines(
        {"p": {"job_id": "{n}-{t}"}, "c": {"job_id": "{t}", "depends_on": {"app_name": ["p"], "n": [1, 2]}}}
    )
    jobs = [["p", "1-a_b"], ["p", "2-a_b"]]
    assert clerk.asks("--apps", source, "parents", "c", "a_b") == [{"group": "default", "jobs": jobs}]


def test_a_default_template_serves_apps_without_their_own(
    clerk: Clerk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_JOB_ID_DEFAULT_TEMPLATE", "{date}_{shop}")
    plain = clerk.defines(
        {"fetch": {}, "sum": {"job_id": "{date}", "depends_on": {"app_name": ["fetch"], "shop": ["a"]}}}
    )
    own = clerk.defines({"default_job_id": "{week}", "report": {}}, name="own.json")
    shown = clerk.asks("--apps", plain, "--apps", own, "apps", "show")
    assert {app["app"]: app["job_id"] for app in shown} == {
        "fetch": "{date}_{shop}",
        "sum": "{date}",
        "report": "{week}",
    }
    assert clerk.asks("--apps", plain, "children", "fetch", "1_a") == [["sum", "1"]]


def assert_refused(clerk: Clerk, command: str, typed: str) -> None:
    said = clerk.types("--apps", clerk.defines(APPS), command, *typed.split())
    assert said.code == 2
    assert REFUSED[typed] in said.document["error"]["what"]
