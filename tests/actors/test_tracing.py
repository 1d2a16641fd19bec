"""Traces are optional: without the setting nothing is imported, and a trace context is stored only if one exists."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.semconv._incubating.attributes import messaging_attributes as conventions

from sluice.actors.assembly import observers
from sluice.actors.client import Client
from sluice.actors.settings.settings import Settings, read_settings
from sluice.actors.tasks import NewTask, Tasks
from sluice.actors.telemetry.observers import RunInfo
from sluice.actors.telemetry.tracing import Tracing
from sluice.jobs.errors import BadSetting
from sluice.jobs.model.submission import Submission
from sluice.jobs.observe.traceparent import of_submission, read_traceparent
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.reads.run_records import PlannedSubmission, RunOrigin
from tests.live.collector import collecting
from tests.world import World

ROOT = Path(__file__).parents[2]
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
PLACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def kept(world: World) -> list[str | None]:
    """Return the trace contexts of the submissions in the ledger."""
    return world.ledger.transact(
        lambda tx: tx.column("SELECT request->>'traceparent' FROM submission ORDER BY number")
    )


def test_without_tracing_opentelemetry_is_not_imported() -> None:
    imports = "import sys, sluice.actors.worker.command, sluice.ops.operations.installation"
    code = f"{imports}; assert 'opentelemetry' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_tracing_without_the_extra_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sluice.actors.telemetry.tracing", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(BadSetting) as told:
        observers(Settings(trace=True), lambda _: None)
    assert "opentelemetry" in told.value.what
    assert "sluice-jobs[trace]" in (told.value.advice or "")
    assert observers(Settings(), lambda _: None) == []


def test_the_trace_setting_is_on_or_off(tmp_path: Path) -> None:
    assert read_settings({"SLUICE_TRACE": "on"}, folder=tmp_path).trace
    assert not read_settings({}, folder=tmp_path).trace
    with pytest.raises(BadSetting):
        read_settings({"SLUICE_TRACE": "loud"}, folder=tmp_path)


def test_a_client_passes_on_its_current_span(world: World) -> None:
    world.apps("a -> b")
    client = Client(world.ledger, world.queue.extend)
    context = trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(context)):
        client.submit(Submission(app="a", key="1"))
        client.submit(Submission(app="a", key="2", traceparent=PLACE))
        Tasks(world.ledger, lambda _: None, "a", world.catalogue).open_many([NewTask(key="9")])
    client.submit(Submission(app="a", key="3"))
    placed = Client(world.ledger, world.queue.extend, within=PLACE)
    placed.submit(Submission(app="a", key="4"))
    placed.beside(lambda _, __: None).submit(Submission(app="a", key="5"))
    here = f"00-{1:032x}-{2:016x}-01"
    assert kept(world) == [here, PLACE, here, None, PLACE, PLACE]


def test_a_submission_by_message_keeps_its_trace_context_even_if_invalid(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", traceparent=PLACE)
    world.submit("a", key="2", traceparent="nonsense")
    assert kept(world) == [PLACE, "nonsense"]


def test_a_trace_is_sampled_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Different processes send the first span of a trace and the later ones. Each process decides by the trace ID."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    # The provider of this process must not change, because other tests use it.
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: None)
    origins = [RunOrigin(f"s{number}", "a", MOMENT) for number in range(40)]
    sampled = set()
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        tracing = Tracing("memory")
        for origin in origins:
            run = tracing.run(
                RunInfo(job=ClaimedJob(1, "a", "1", 0, 1, None, None, None, None), origin=origin)
            )
            place = read_traceparent(run.traceparent)
            run.end(None)
            assert place is not None
            assert place.trace == of_submission(origin.submission, MOMENT, None).trace
            tracing.planned(PlannedSubmission(origin.submission, "a", MOMENT, planned_at=MOMENT))
            if place.sampled:
                sampled.add(f"{place.trace:032x}")
        tracing.close()
    assert 0 < len(sampled) < len(origins)
    for name in ("plan planner", "execute a"):
        assert {span.trace for span in collector.named(name)} == sampled


def test_headers_of_the_settings_are_sent_to_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: None)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=other")
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        tracing = Tracing("memory", {"authorization": "Bearer s3cret"})
        tracing.planned(PlannedSubmission("s1", "a", MOMENT, planned_at=MOMENT))
        tracing.close()
    assert [each["Authorization"] for each in collector.headers] == ["Bearer s3cret"]


def test_attribute_names_follow_the_messaging_conventions() -> None:
    """The conventions are in development, and their names may change."""
    named = {
        conventions.MESSAGING_SYSTEM,
        conventions.MESSAGING_OPERATION_NAME,
        conventions.MESSAGING_OPERATION_TYPE,
        conventions.MESSAGING_DESTINATION_NAME,
        conventions.MESSAGING_MESSAGE_CONVERSATION_ID,
        conventions.MESSAGING_BATCH_MESSAGE_COUNT,
    }
    text = Path(sys.modules[Tracing.__module__].__file__ or "").read_text()
    assert all(f'"{name}"' in text for name in named)
