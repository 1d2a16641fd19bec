"""The options ``notify`` and ``due_within``: valid values, and the faults of all others."""

from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.errors import DefinitionError
from sluice.jobs.notifications.rules import JobEvent, NotifyRule, Receiver
from tests.world import catalogue_of

WORDS = {"job_id": "{x}", "bash_cmd": "true"}
URL = "https://alerts.example.org/x"


def rules(*values: Any) -> tuple[NotifyRule, ...]:
    return catalogue_of({"a": WORDS | {"notify": list(values)}})["a"].policy.notify


def test_rules_are_parsed() -> None:
    assert rules({"on": ["failed", "recovered"], "webhook": URL, "format": "slack"}) == (
        NotifyRule(on=(JobEvent.FAILED, JobEvent.RECOVERED), to=Receiver(webhook=URL, format="slack")),
    )


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("x", "is not a list of rules"),
        ([3], "rule 1: 3 is no mapping"),
        ([{"webhook": URL}], "there is no on"),
        ([{"on": ["failed"]}], "it has no receiver or two"),
        ([{"on": ["failed"], "webhook": URL, "app": "b"}], "it has no receiver or two"),
        ([{"on": ["failed"], "app": "b"}], "there is no app 'b'"),
        ([{"on": ["failed"], "app": "a"}], "a itself notifies an app"),
        ([{"on": ["failed"], "app": "b", "format": "slack"}], "format is for a webhook"),
        ([{"on": "failed", "webhook": URL}], "is not a list of events"),
        ([{"on": ["fail"], "webhook": URL}], r"did you mean failed\?"),
        ([{"on": ["recovered"], "webhook": URL}], "a job recovers from an event that the rule sends"),
        ([{"on": ["failed"], "webhok": URL}], r"did you mean webhook\?"),
        ([{"on": ["failed"], "webhook": "ftp://x"}], "neither an http nor an https URL"),
        ([{"on": ["failed"], "webhook": "https://u:p@x/"}], "is a secret"),
        ([{"on": ["failed"], "webhook": "${SLUICE_LEDGER_URL}"}], "is a setting or a secret of the worker"),
        ([{"on": ["failed"], "webhook": "https://x/${A-B}"}], "a reference to a secret is"),
        ([{"on": ["failed"], "webhook": URL, "format": "xml"}], "is none of json, slack"),
        ([{"on": ["failed"], "webhook": URL}] * 21, "more than the 20"),
    ],
)
def test_an_invalid_rule_is_a_fault(value: Any, fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        catalogue_of({"a": WORDS | {"notify": value}})


def test_due_within_is_a_duration() -> None:
    assert catalogue_of({"a": WORDS | {"due_within": "4h"}})["a"].policy.due_within_s == 4 * 3600
    with pytest.raises(DefinitionError, match="due_within: '0s' is not longer than 0s"):
        catalogue_of({"a": WORDS | {"due_within": "0s"}})


def test_neither_changes_the_digest_of_an_app() -> None:
    plain = catalogue_of({"a": WORDS})["a"].digest
    notify = [{"on": ["failed"], "webhook": URL}]
    assert catalogue_of({"a": WORDS | {"notify": notify, "due_within": "1h"}})["a"].digest == plain


def test_the_label_of_a_receiver_shows_no_path() -> None:
    assert (
        Receiver(webhook="https://hooks.example.org/services/T1/secret").label
        == "webhook https://hooks.example.org"
    )
    assert Receiver(webhook="${ALERT_URL}").label == "webhook ${ALERT_URL}"


def test_rules_of_a_source_are_added_to_those_of_its_apps_except_receivers() -> None:
    every = [{"on": ["failed"], "app": "alert"}]
    own = [{"on": ["succeeded"], "webhook": URL}]
    catalogue = catalogue_of(
        {"notify": every, "a": WORDS | {"notify": own}, "b": WORDS, "alert": WORDS | {"job_id": "{event}"}}
    )
    assert [rule.to.label for rule in catalogue["a"].policy.notify] == [
        "webhook https://alerts.example.org",
        "app alert",
    ]
    assert [rule.to.label for rule in catalogue["b"].policy.notify] == ["app alert"]
    assert catalogue["alert"].policy.notify == ()


def test_a_module_has_rules_for_all_of_its_apps(tmp_path: Path) -> None:
    source = tmp_path / "pipeline.py"
    source.write_text(
        "from sluice import app\n"
        'notify = [{"on": ["failed"], "webhook": "${ALERT_URL}"}]\n'
        "@app\n"
        "def a(x: str) -> None: ...\n"
    )
    assert [rule.to.label for rule in load([str(source)])["a"].policy.notify] == ["webhook ${ALERT_URL}"]


def test_a_wrong_rule_of_a_source_or_schedule_is_a_fault() -> None:
    with pytest.raises(DefinitionError, match="notify: rule 1: there is no on"):
        catalogue_of({"notify": [{"webhook": URL}], "a": WORDS})
    schedule = {"app": "a", "key": "1", "every": "1h", "notify": [{"on": ["failed"], "app": "x"}]}
    with pytest.raises(DefinitionError, match="there is no app 'x'"):
        catalogue_of({"a": WORDS, "schedules": {"s": schedule}})
