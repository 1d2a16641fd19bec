"""Lineage events delay no work: events that cannot be sent are dropped, counted and logged."""

import logging

import pytest

from sluice.actors.telemetry.openlineage import sender
from sluice.actors.telemetry.openlineage.events import LineageNames
from sluice.actors.telemetry.openlineage.sender import EventSender
from tests.world import catalogue_of

#: Address of a server that does not exist: no process listens on port 1.
NOBODY = "http://user:secret@127.0.0.1:1"


def test_events_that_cannot_be_sent_are_dropped_counted_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sender, "PAUSES_S", (0.0, 0.0))
    with caplog.at_level(logging.WARNING, "sluice.lineage"):
        made = EventSender(NOBODY, None)
        for _ in range(5):
            made.send(b"{}")
        made.close()
    assert (made.sent, made.dropped) == (0, 5)
    assert "lineage events were dropped" in caplog.text
    assert "secret" not in caplog.text


def test_events_beyond_the_limit_of_the_queue_are_dropped_immediately(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sender, "WAITING_MAX", 2)
    monkeypatch.setattr(EventSender, "_send_all", lambda _: None)
    made = EventSender(NOBODY, None)
    for _ in range(5):
        made.send(b"{}")
    assert made.dropped == 3
    made.close()
    assert made.dropped == 5


def test_a_key_that_no_longer_fits_its_app_is_reported_as_the_table_alone() -> None:
    words = {"job_id": "{day}", "identifiers": {"day": "date"}, "bash_cmd": "true", "output_table": "visits"}
    app = catalogue_of({"count": words}).app("count")
    (fits,) = LineageNames("n", "t").outputs(app, "visits", "20240402")
    (outdated,) = LineageNames("n", "t").outputs(app, "visits", "graz_20240402")
    assert "2024-04-02" in str(fits.output_facets)
    assert (outdated.name, outdated.output_facets) == ("visits", {})
