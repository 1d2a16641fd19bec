"""Events of lineage hold nobody up: what cannot be sent is dropped, counted, and said."""

import logging

import pytest

from sluice.actors.lineage import post
from sluice.actors.lineage.post import Post

#: Nothing answers at port 1.
NOBODY = "http://user:secret@127.0.0.1:1"


def test_what_cannot_be_sent_is_dropped_counted_and_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(post, "PAUSES_S", (0.0, 0.0))
    with caplog.at_level(logging.WARNING, "sluice.lineage"):
        made = Post(NOBODY, None)
        for _ in range(5):
            made.send(b"{}")
        made.close()
    assert (made.sent, made.dropped) == (0, 5)
    assert "events of lineage were dropped" in caplog.text
    assert "secret" not in caplog.text


def test_more_than_may_wait_are_dropped_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post, "WAITING_MAX", 2)
    monkeypatch.setattr(Post, "_send_all", lambda _: None)
    made = Post(NOBODY, None)
    for _ in range(5):
        made.send(b"{}")
    assert made.dropped == 3
    made.close()
    assert made.dropped == 5
