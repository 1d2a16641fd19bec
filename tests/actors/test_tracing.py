"""Traces are for those who ask for them: nobody else loads anything, or hands anything on."""

import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.semconv._incubating.attributes import messaging_attributes as conventions

from actors.assembly import onlookers
from actors.client import Client
from actors.settings import Settings, read_settings
from actors.tracing import Tracing
from jobs.errors import BadSetting
from jobs.submission import Submission
from tests.world import World

ROOT = Path(__file__).parents[2]
PLACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def kept(world: World) -> list[str | None]:
    """What stands in the ledger of where submissions belong."""
    return world.ledger.transact(
        lambda tx: tx.column("SELECT request->>'traceparent' FROM submission ORDER BY number")
    )


def test_nothing_is_loaded_where_nothing_is_traced() -> None:
    code = "import sys, actors.worker, ops.cli.installation; assert 'opentelemetry' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_without_the_extra_whoever_asks_for_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "actors.tracing", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(BadSetting) as told:
        onlookers(Settings(trace=True), lambda _: None)
    assert "opentelemetry" in told.value.what
    assert "sluice[trace]" in (told.value.advice or "")
    assert onlookers(Settings(), lambda _: None) == []


def test_the_setting_is_on_or_off(tmp_path: Path) -> None:
    assert read_settings({"SLUICE_TRACE": "on"}, folder=tmp_path).trace
    assert not read_settings({}, folder=tmp_path).trace
    with pytest.raises(BadSetting):
        read_settings({"SLUICE_TRACE": "loud"}, folder=tmp_path)


def test_a_client_hands_on_the_span_that_it_is_in(world: World) -> None:
    world.apps("a -> b")
    client = Client(world.ledger, world.queue.extend)
    context = trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(context)):
        client.submit(Submission(app="a", key="1"))
        client.submit(Submission(app="a", key="2", traceparent=PLACE))
    client.submit(Submission(app="a", key="3"))
    Client(world.ledger, world.queue.extend, within=PLACE).submit(Submission(app="a", key="4"))
    assert kept(world) == [f"00-{1:032x}-{2:016x}-01", PLACE, None, PLACE]


def test_one_that_came_by_message_keeps_what_it_says_even_if_that_is_nonsense(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", traceparent=PLACE)
    world.submit("a", key="2", traceparent="nonsense")
    assert kept(world) == [PLACE, "nonsense"]


def test_our_words_are_those_of_the_conventions() -> None:
    """They are in development, and may come to be called otherwise."""
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
