"""Commands about notifications: deliveries that were given up are listed and sent again; the doctor reports them."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from sluice.jobs.model.job import Ending
from sluice.ledger.notifications import deliveries
from sluice.ledger.notifications.dead_letters import delivery_counts
from sluice.ledger.notifications.deliveries import DeliveryAttempt
from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request
from sluice.ops.observe.doctor.finding import FindingLevel
from sluice.ops.observe.doctor.ledger import notifications
from tests.ops.console_client import HERE, TOKEN, console_of, told
from tests.ops.site import Site

URL = "https://alerts.example.org/services/secret"


def take(site: Site) -> list[deliveries.DueDelivery]:
    site.world.ledger.transact(lambda tx: deliveries.route(tx, 100))
    return site.world.ledger.transact(lambda tx: deliveries.take(tx, 100, together=100, busy={}))


@pytest.fixture
def dead(site: Site) -> list[str]:
    """Give up the deliveries of two events. Return the ids of the events."""
    site.chain("a", notify=[{"on": ["failed"], "webhook": URL}])
    for key in "12":
        site.world.submit("a", key)
        site.world.finish(f"a/{key}", Ending.ERROR)
    taken = take(site)
    site.world.now += timedelta(seconds=deliveries.GIVE_UP_S + 1)
    attempts = [DeliveryAttempt(delivery=each, error="404 Not Found") for each in taken]
    site.world.ledger.transact(lambda tx: deliveries.record(tx, attempts))
    return [str(each.event_id) for each in taken]


def test_deliveries_that_were_given_up_are_listed_without_the_path_of_the_url(
    site: Site, dead: list[str]
) -> None:
    listed = site.says("notifications", "ls")
    assert {each["id"] for each in listed} == {*dead}
    assert {each["receiver"] for each in listed} == {"webhook https://alerts.example.org"}
    assert {each["error"] for each in listed} == {"404 Not Found"}
    text = site.types("notifications", "ls")
    assert "a/1" in text
    assert "secret" not in text
    assert len(site.says("notifications", "ls", "--limit", "1")) == 1


def test_an_event_is_sent_again_under_the_same_id(site: Site, dead: list[str]) -> None:
    assert site.says("notifications", "retry", dead[0]) == {"again": 1}
    assert [str(each.event_id) for each in take(site)] == [dead[0]]
    assert [each["id"] for each in site.says("notifications", "ls")] == [dead[1]]


def test_all_events_are_sent_again(site: Site, dead: list[str]) -> None:
    assert site.says("notifications", "retry", "--all") == {"again": 2}
    assert site.says("notifications", "ls") == []
    assert site.says("notifications", "retry", "--all") == {"again": 0}


def test_an_unknown_event_changes_nothing_and_no_event_is_an_error(site: Site) -> None:
    assert site.says("notifications", "retry", str(uuid4())) == {"again": 0}
    for words in ([], ["x"], ["--all", str(uuid4())]):
        site.says("notifications", "retry", *words, code=2)


def test_the_console_lists_deliveries_by_job_and_state_without_the_path_of_the_url(
    site: Site, dead: list[str]
) -> None:
    found = asks(site, "GET", "/api/notifications")
    assert (found["dead"], found["pending"], found["next"]) == (2, 0, None)
    assert [(each["app"], each["key"], each["state"]) for each in found["notifications"]] == [
        ("a", "2", "dead"),
        ("a", "1", "dead"),
    ]
    assert {each["receiver"] for each in found["notifications"]} == {"webhook https://alerts.example.org"}
    assert "secret" not in str(found)
    (of_job,) = asks(site, "GET", "/api/notifications?job=a/1")["notifications"]
    assert of_job["error"] == "404 Not Found"
    assert asks(site, "GET", "/api/notifications?state=delivered")["notifications"] == []
    first = asks(site, "GET", "/api/notifications?limit=1")
    second = asks(site, "GET", f"/api/notifications?limit=1&after={first['next']}")
    assert [each["key"] for each in [*first["notifications"], *second["notifications"]]] == ["2", "1"]


def test_the_console_sends_events_again_and_records_the_act(site: Site, dead: list[str]) -> None:
    assert asks(site, "POST", "/api/notifications/retry", {"ids": [dead[0]]}) == {"again": 1}
    assert asks(site, "POST", "/api/notifications/retry", {"ids": [dead[0]]}) == {"again": 0}
    assert asks(site, "GET", "/api/notifications?state=pending")["notifications"][0]["id"] == dead[0]
    assert asks(site, "POST", "/api/notifications/retry", {"all": True}) == {"again": 1}
    for body in ({}, {"ids": dead, "all": True}, {"ids": ["x"]}):
        assert asks(site, "POST", "/api/notifications/retry", body)["status"] in (400, 422)
    acts = asks(site, "GET", "/api/audit")["audit"]
    assert [(each["target"], each["result"]) for each in acts] == [
        ({"all": True}, {"again": 1}),
        ({"events": [dead[0]]}, {"again": 1}),
    ]


def asks(site: Site, method: str, path: str, document: object = None) -> Any:
    path, _, query = path.partition("?")
    body = b"" if document is None else json.dumps(document).encode()
    request = Request(method=method, path=path, query=query, headers=HERE, body=body)
    return told(console_of(site.world, AccessControl(TOKEN)).answer(request))


def test_the_doctor_reports_deliveries_that_were_given_up(site: Site, dead: list[str]) -> None:
    (found,) = notifications(site.world.ledger.transact(delivery_counts), where="here")
    assert found.level is FindingLevel.WARN
    assert "2 notifications" in found.what
    site.says("notifications", "retry", "--all")
    assert [*notifications(site.world.ledger.transact(delivery_counts), where="here")] == []
