"""Posting events to real HTTP servers on loopback, and what the body contains."""

import json
import threading
from typing import Any

import pytest

from sluice.jobs.notifications.body import EventBody, encoded, link_to
from sluice.jobs.notifications.rules import JobEvent
from sluice.jobs.notifications.webhook import EVENT_HEADER, post
from tests.jobs.receivers import receiving

HERE = ("127.0.0.1",)
BODY = EventBody(
    id="e1",
    event=JobEvent.FAILED,
    app="load",
    key="20260101_graz",
    submission=None,
    state="failed",
    error="no such file",
    link="https://sluice.example.org/jobs/load/20260101_graz",
    attempt=2,
    at="2026-01-01T00:00:00Z",
)


def send(url: str, hosts: tuple[str, ...] = HERE, **words: Any) -> str | None:
    return post(url, encoded(BODY, "json"), BODY.id, hosts, threading.Event(), **words)


def test_an_accepted_event_has_its_id_in_the_header_and_in_the_body() -> None:
    with receiving() as receiver:
        assert send(receiver.url) is None
    assert receiver.headers[0][EVENT_HEADER] == "e1"
    assert receiver.bodies == [
        {
            "id": "e1",
            "event": "failed",
            "app": "load",
            "key": "20260101_graz",
            "submission": None,
            "state": "failed",
            "error": "no such file",
            "link": "https://sluice.example.org/jobs/load/20260101_graz",
            "attempt": 2,
            "at": "2026-01-01T00:00:00Z",
        }
    ]


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_any_other_status_is_a_failure(status: int) -> None:
    with receiving(lambda _: (status, {})) as receiver:
        assert send(receiver.url) == f"the receiver answers {status}"


def test_a_redirect_is_a_failure_and_is_not_followed() -> None:
    with (
        receiving() as inner,
        receiving(lambda _: (307, {"Location": inner.url})) as receiver,
    ):
        assert send(receiver.url) == "the receiver answers 307; redirects are not followed"
    assert inner.bodies == []


def test_a_receiver_that_hangs_is_left_after_the_timeout() -> None:
    with receiving() as receiver:
        receiver.goes_on.clear()
        assert send(receiver.url, timeout_s=0.3) == "it took longer than 0.3 s"
        assert receiver.arrived.acquire(timeout=10)


def test_a_receiver_that_hangs_is_left_when_the_process_ends() -> None:
    stop, results = threading.Event(), list[str | None]()
    with receiving() as receiver:
        receiver.goes_on.clear()
        thread = threading.Thread(
            target=lambda: results.append(post(receiver.url, b"{}", "e1", HERE, stop, timeout_s=600))
        )
        thread.start()
        assert receiver.arrived.acquire(timeout=10)
        stop.set()
        thread.join(10)
    assert results == ["the process was stopped"]


def test_a_receiver_on_this_machine_is_refused_unless_the_setting_names_it() -> None:
    with receiving() as receiver:
        reason = send(receiver.url, ())
        assert reason is not None
        assert "not an address of the public internet" in reason
        assert "SLUICE_NOTIFY_HOSTS" in reason
    assert receiver.bodies == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "alerts",
        "file:///etc/passwd",
        "http://",
        "http://u:p@127.0.0.1/",
        "http://127.0.0.1:0/",
        "http://a\n/",
    ],
)
def test_a_secret_that_is_no_url_is_reported_without_showing_it(url: str) -> None:
    assert send(url) == "the URL of the webhook is not an http or https URL"


def test_a_closed_port_is_reported_without_the_path() -> None:
    with receiving() as receiver:
        url = receiver.url
    reason = send(url)
    assert reason is not None
    assert "does not answer" in reason
    assert "hook" not in reason


def test_the_slack_format_escapes_text_of_jobs() -> None:
    text = json.loads(encoded(BODY, "slack"))["text"]
    assert text == (
        "*<https://sluice.example.org/jobs/load/20260101_graz|load/20260101_graz>* has failed\n"
        "```no such file```\nstate failed, attempt 2, event e1"
    )
    evil = EventBody(
        **{**{name: getattr(BODY, name) for name in BODY.__struct_fields__}, "error": "``` <!channel>"}
    )
    assert "<!channel>" not in json.loads(encoded(evil, "slack"))["text"]


def test_a_link_is_quoted() -> None:
    assert link_to("https://s.example.org/", "a", "x/y z") == "https://s.example.org/jobs/a/x%2Fy%20z"
    assert link_to(None, "a", "1") is None
