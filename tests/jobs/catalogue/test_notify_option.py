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
        ([{"on": ["failed"], "webhook": f"{URL}/{'x' * 2000}"}], "more than the 2000"),
        ([{"on": ["failed"], "command": "é" * 1001}], "more than the 2000"),
        ([{"on": ["failed"], "command": " "}], "is not a command"),
        ([{"on": ["failed"], "command": ["./page.sh"]}], "is not a command"),
        ([{"on": ["failed"], "command": "./page.sh", "webhook": URL}], "it has no receiver or two"),
        ([{"on": ["failed"], "command": "./page.sh", "format": "slack"}], "format is for a webhook"),
        ([{"on": ["failed"], "receiver": "oncall"}], "rule 1: there is no receiver 'oncall'; define it"),
        ([{"on": ["failed"], "reciever": "oncall"}], r"did you mean receiver\?"),
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


RECEIVERS = {"oncall": {"webhook": URL, "format": "slack"}, "pager": {"command": "./page.sh now"}}
ONCALL, PAGER = Receiver(webhook=URL, format="slack"), Receiver(command="./page.sh now")


def to(name: object, **words: object) -> dict[str, object]:
    return {"on": ["failed"], "receiver": name, **words}


def test_rules_name_receivers_of_their_source() -> None:
    catalogue = catalogue_of(
        {
            "receivers": RECEIVERS,
            "notify": [to("pager")],
            "a": WORDS | {"notify": [to("oncall"), to("oncall", format="json")]},
            "schedules": {"s": {"app": "a", "key": "1", "every": "1h", "notify": [to("pager")]}},
        }
    )
    assert [rule.to for rule in catalogue["a"].policy.notify] == [ONCALL, Receiver(webhook=URL), PAGER]
    assert [rule.to for rule in catalogue.schedules["s"].notify] == [PAGER]
    assert catalogue.notify_commands == {"./page.sh now"}


def test_rules_name_receivers_of_their_module(tmp_path: Path) -> None:
    source = tmp_path / "pipeline.py"
    source.write_text(
        "from sluice import app, schedule\n"
        "@app\n"
        "def alert(event: str, *, notification: dict) -> None: ...\n"
        'receivers = {"oncall": {"app": alert}, "pager": {"command": "./page.sh now"}}\n'
        '@app(notify=[{"on": ["failed"], "receiver": "oncall"}])\n'
        "def a(x: str) -> None: ...\n"
        's = schedule(id="s", app=a, key="1", every="1h", notify=[{"on": ["late"], "receiver": "pager"}])\n'
    )
    catalogue = load([str(source)])
    assert [rule.to for rule in catalogue["a"].policy.notify] == [Receiver(app="alert")]
    assert [rule.to for rule in catalogue.schedules["s"].notify] == [PAGER]


def test_an_app_in_a_file_of_its_own_has_the_rules_and_receivers_of_the_file(tmp_path: Path) -> None:
    source = tmp_path / "orders.py"
    source.write_text(
        'receivers = {"pager": {"command": "./page.sh now"}}\n'
        'notify = [{"on": ["late"], "receiver": "pager"}]\n'
        'STAU_CONFIG = {"chunk_size": 2, "notify": [{"on": ["failed"], "receiver": "pager"}]}\n'
        "def main(work_ids): ...\n"
    )
    rules = load([str(source)])["orders"].policy.notify
    assert [(rule.on, rule.to) for rule in rules] == [
        ((JobEvent.FAILED,), PAGER),
        ((JobEvent.LATE,), PAGER),
    ]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ({"a": WORDS | {"notify": [to("oncal")]}}, r"no receiver 'oncal' \(did you mean oncall\?\)"),
        ({"a": WORDS, "notify": [to("pagr")]}, r"notify: rule 1: .* \(did you mean pager\?\)"),
        ({"a": WORDS | {"notify": [to(["oncall"])]}}, r"no receiver \['oncall'\]"),
        ({"a": WORDS | {"notify": [to("oncall", app="a")]}}, "it has no receiver or two"),
        ({"a": WORDS, "receivers": [RECEIVERS]}, "is not a mapping of names to receivers"),
        ({"a": WORDS, "receivers": {"x": URL}}, f"receivers: x: '{URL}' is no mapping"),
        ({"a": WORDS, "receivers": {"x": {"on": ["failed"], "webhook": URL}}}, "unknown option 'on'"),
        (
            {"a": WORDS, "schedules": {"s": {"app": "a", "key": "1", "every": "1h", "notify": [to("x")]}}},
            "schedules.s: notify: rule 1: there is no receiver 'x'",
        ),
    ],
)
def test_an_invalid_or_unknown_receiver_is_a_fault(words: dict[str, Any], fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        catalogue_of({"receivers": RECEIVERS, **words})


def test_a_receiver_with_a_fault_is_reported_once() -> None:
    with pytest.raises(DefinitionError) as raised:
        catalogue_of({"receivers": {"oncall": {}}, "a": WORDS | {"notify": [to("oncall")]}})
    assert len(raised.value.faults) == 1


def test_the_label_of_a_command_is_its_program() -> None:
    assert Receiver(command="TOKEN=secret ./page.sh now").label == "command ./page.sh"
