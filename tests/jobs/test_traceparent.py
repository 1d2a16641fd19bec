"""Positions in traces: read as W3C specifies, and the same ids in every process for the same data."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.jobs.model.names import Claim
from sluice.jobs.observe.traceparent import TracePosition, of_run, of_submission, of_verdict, read_traceparent

WRITTEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_traceparent_is_read_and_written_unchanged() -> None:
    place = read_traceparent(WRITTEN)
    assert place == TracePosition(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7, sampled=True)
    assert str(place) == WRITTEN
    assert read_traceparent(WRITTEN[:-2] + "00") == place._replace(sampled=False)


def test_a_later_version_may_have_additional_fields() -> None:
    assert read_traceparent(f"01{WRITTEN[2:]}-more") == read_traceparent(WRITTEN)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "nonsense",
        WRITTEN.upper(),
        f"{WRITTEN}-more",
        f"ff{WRITTEN[2:]}",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
        WRITTEN[:-1],
        f"{WRITTEN}\n",
    ],
)
def test_an_invalid_traceparent_counts_as_missing(text: str | None) -> None:
    assert read_traceparent(text) is None


def test_the_span_of_a_submission_is_in_the_trace_of_its_sender() -> None:
    sender = read_traceparent(WRITTEN)
    assert sender is not None
    place = of_submission("nightly", MOMENT, sender)
    assert (place.trace, place.sampled) == (sender.trace, True)
    assert place.span != sender.span


def test_the_same_id_in_another_ledger_or_at_another_time_begins_another_trace() -> None:
    one = of_submission("nightly", MOMENT, None)
    assert one == of_submission("nightly", MOMENT, None)
    assert one.trace != of_submission("nightly", MOMENT + timedelta(microseconds=1), None).trace
    assert one.trace != of_submission("daily", MOMENT, None).trace


def test_each_run_and_each_verdict_has_a_span_of_its_own() -> None:
    claims = [Claim(1, 1), Claim(1, 2), Claim(11, 1), Claim(2, 1)]
    spans = [name(trace, claim) for name in (of_run, of_verdict) for trace in (1, 2) for claim in claims]
    assert len(set(spans)) == len(spans)
    assert all(0 < span < 2**64 for span in spans)
