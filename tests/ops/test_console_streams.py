"""Streams of events of the console, and the limit on their number."""

import http.client
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from sluice.ops.console.server import SEATS
from tests.ops.caller import TIMEOUT_S, Caller, console
from tests.ops.typist import Typist


@pytest.fixture(scope="module")
def caller(desk_of_module: Typist) -> Iterator[Caller]:
    with console(desk_of_module) as caller:
        yield caller


def until(events: Iterator[tuple[str, Any]], name: str, **words: Any) -> Any:
    """Return the first event with this name and these values."""
    return next(
        told
        for kind, told in events
        if kind == name and all(told[word] == value for word, value in words.items())
    )


def test_a_stream_follows_a_job_and_its_submission(caller: Caller, desk_of_module: Typist) -> None:
    with caller.hears("job:report/20261105", "submission:fifth") as events:
        caller.posts(
            "/api/submissions", {"app": "report", "key": "20261105", "id": "fifth", "push": "wanted"}
        )
        assert until(events, "submission")["state"] == "received"
        with desk_of_module.starts("up", "--no-console"):
            ended = until(events, "submission", state="succeeded")
        assert ended["progress"] == {"total": 3, "ended": 3, "failed": 0, "about": False}
    with caller.hears("job:report/20261105") as events:
        told = until(events, "job", state="succeeded")
        assert told == {
            "app": "report",
            "key": "20261105",
            "state": "succeeded",
            "round": 0,
            "changed_at": told["changed_at"],
            "paused": False,
            "output_version": told["output_version"],
        }


def test_the_overview_is_sent_when_it_changes(caller: Caller) -> None:
    with caller.hears("overview") as events:
        before = until(events, "overview")["totals"].get("waiting", 0)
        caller.posts("/api/apps/report/pause")
        told = next(
            told
            for kind, told in events
            if kind == "overview" and any(queue["paused"] for queue in told["queues"])
        )
        assert told["totals"].get("waiting", 0) == before
    caller.posts("/api/apps/report/resume")


def test_a_stream_of_schedules_begins_with_the_schedules(caller: Caller, desk_of_module: Typist) -> None:
    with caller.hears("schedules") as events:
        assert until(events, "schedules")["schedules"] == []


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("?watch=weather", 404),
        ("?watch=job:report", 404),
        ("?watch=job:/1", 404),
        ("?watch=submission:", 404),
        ("?" + "&".join(["watch=overview"] * 51), 400),
        ("?listen=overview", 400),
    ],
)
def test_an_invalid_watch_is_refused(query: str, status: int, caller: Caller) -> None:
    assert caller.gets(f"/api/events{query}").status == status


def test_streams_are_limited_and_leave_places_for_requests(desk_of_module: Typist) -> None:
    with console(desk_of_module) as caller, ExitStack() as opened:
        for _ in range(SEATS):
            opened.enter_context(caller.hears("overview"))
        told = caller.gets("/api/events?watch=overview")
        assert (told.status, told.headers["Retry-After"]) == (503, "2")
        assert caller.gets("/api/session").status == 200


def test_a_closed_stream_frees_its_seat(desk_of_module: Typist) -> None:
    with console(desk_of_module) as caller:
        with ExitStack() as opened:
            for _ in range(SEATS):
                opened.enter_context(caller.hears("overview"))
        _finds_a_seat(caller)


def _finds_a_seat(caller: Caller) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    with closing(http.client.HTTPConnection("127.0.0.1", caller.port, timeout=TIMEOUT_S)) as connection:
        while time.monotonic() < deadline:
            connection.request("GET", "/api/events?watch=overview", headers=caller.headers)
            response = connection.getresponse()
            if response.status == 200:
                assert response.readline() == b"retry: 2000\n"
                return
            response.read()
    raise AssertionError("all seats are taken")


def test_a_stream_ends_with_the_console(desk_of_module: Typist) -> None:
    with ExitStack() as opened:
        with console(desk_of_module) as caller:
            events = opened.enter_context(caller.hears("overview"))
            until(events, "overview")
        assert [kind for kind, _ in events if kind] == []
