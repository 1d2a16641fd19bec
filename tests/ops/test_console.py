"""The calls of the console by HTTP, their results and their refusals."""

import json
import signal
from http import HTTPStatus
from typing import Any

import pytest

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.ops.caller import printed
from tests.ops.console_client import Asker, told
from tests.ops.orders import waiting
from tests.ops.typist import Typist, ended
from tests.world import World

TOKEN = "a token of an operator"


@pytest.fixture
def asker(world: World) -> Asker:
    return Asker(world)


def test_a_submission_is_received_planned_and_cancelled(asker: Asker) -> None:
    said = asker.asks("/api/submissions", {"app": "b", "key": "1", "id": "one"})
    assert (said.status, told(said)) == (202, {"submission": "one", "state": "received"})
    assert asker.world.state("a") is State.READY
    said = asker.asks("/api/submissions/one/cancel")
    assert (said.status, told(said)) == (200, {"cancelled": 2})
    assert asker.world.submission("one") is SubmissionState.CANCELLED


def test_a_submission_keeps_the_traceparent_of_its_header(asker: Asker) -> None:
    place = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    asker.asks("/api/submissions", {"app": "b", "key": "1"}, traceparent=place)
    kept = "SELECT request->>'traceparent' FROM submission"
    assert asker.world.ledger.transact(lambda tx: tx.column(kept)) == [place]


def test_an_id_may_have_a_slash_and_a_space(asker: Asker) -> None:
    asker.asks("/api/submissions", {"app": "b", "key": "1", "id": "one/two three"})
    assert asker.asks("/api/submissions/one%2Ftwo%20three/cancel").status == HTTPStatus.OK


@pytest.mark.parametrize(
    ("path", "words", "status", "told"),
    [
        ("/api/submissions", {"app": 7}, 400, "Expected `str`"),
        ("/api/submissions", {"app": "b", "colour": "red"}, 400, "unknown field `colour`"),
        ("/api/submissions", {"app": "b", "policy": {"timeout": "soon"}}, 422, "'soon' is not a duration"),
        ("/api/submissions", {"app": "b", "compensates": "s"}, 422, "this cannot be requested"),
        ("/api/submissions", {"app": "b\0"}, 400, "NUL"),
        (
            "/api/submissions",
            {"app": "b", "kwargs": {"x": json.loads("[" * 64 + "]" * 64)}},
            400,
            "deeper than 64",
        ),
        ("/api/submissions/none/cancel", None, 422, "There is no open submission none"),
        ("/api/submissions/none/cancel", {"now": True}, 400, "takes no fields"),
        ("/api/submissions/no%00ne/cancel", None, 404, "no such call"),
        ("/api/jobs/b/9/resume", {"event": "go"}, 422, "b is no saga"),
        ("/api/jobs/gone/9/resume", {"event": "go"}, 422, "The ledger has no job gone/9"),
        ("/api/jobs/b/9/resume", {"events": "go"}, 400, "unknown field `events`"),
        ("/api/jobs/gone//resume", {"event": "go"}, 422, "The ledger has no job gone"),
        ("/api/jobs/b/9/resume/", {"event": ""}, 422, "event"),
        ("/api/unknown", None, 404, "no such call"),
        ("/", None, 404, "no such call"),
    ],
)
def test_a_refusal_is_a_problem_document(path: str, words: Any, status: int, told: str, asker: Asker) -> None:
    said = asker.asks(path, words)
    assert (said.status, said.kind) == (status, "application/problem+json")
    assert said.document["status"] == status
    assert told in said.document["detail"]


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"\xff", b"[" * 100_000], ids=["open", "list", "bytes", "deep"]
)
def test_a_body_that_is_not_a_json_object_is_refused(body: bytes, asker: Asker) -> None:
    assert asker.asks("/api/submissions", body=body).status == HTTPStatus.BAD_REQUEST


def test_a_wrong_method_is_answered_with_the_allowed_ones(asker: Asker) -> None:
    said = asker.asks("/api/submissions", method="DELETE")
    assert (said.status, said.headers) == (405, {"Allow": "GET, POST"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        # A page that makes its own name resolve to this machine has no session under that name.
        ({"host": "rebound.example.org:8484", "authorization": ""}, 401),
        ({"origin": "https://elsewhere.example.org"}, 403),
        ({"origin": "null"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"host": "localhost"}, 422),
        ({"host": "[::1]:8484", "origin": "http://[::1]:8484"}, 422),
        ({"content_type": "application/json; charset=utf-8"}, 422),
    ],
)
def test_requests_of_foreign_pages_are_refused(headers: dict[str, str], status: int, asker: Asker) -> None:
    assert asker.asks("/api/submissions/none/cancel", **headers).status == status


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("", 401),
        ("Bearer", 401),
        (f"Bearer {TOKEN} or another", 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer \u00fc", 401),
        (f"Bearer {TOKEN}", 422),
    ],
)
def test_a_request_is_accepted_only_with_the_token(sent: str, status: int, world: World) -> None:
    said = Asker(world, TOKEN).asks(
        "/api/submissions/none/cancel", host="console.example.org", authorization=sent
    )
    assert said.status == status
    assert TOKEN not in said.body.decode()


def test_a_saga_that_waits_is_resumed_by_http(orders: Typist) -> None:
    waiting(orders, "41")
    with orders.starts("console", "--listen", "127.0.0.1:0") as console:
        assert console.stdout
        caller = printed(console.stdout.readline())
        said = caller.posts("/api/jobs/order/41/resume", {"event": "approved", "payload": {"ok": True}})
        assert said.status == 200
        assert said.document == {"app": "order", "key": "41", "event": "approved", "became": "resumed"}
        console.send_signal(signal.SIGTERM)
        assert ended(console).code == 0
    assert orders.types("up", "--drain").code == 0
    assert orders.asks("show", "order", "41")["state"] == "succeeded"


def test_a_console_on_a_public_address_needs_a_token(orders: Typist) -> None:
    said = orders.types("console", "--listen", "0.0.0.0:0")
    assert (said.code, "there is no token" in said.err) == (2, True)
