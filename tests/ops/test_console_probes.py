"""Probes and metrics of a console: with a ledger that answers, that is away, or that hangs."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http import HTTPStatus
from itertools import count
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import pytest

from sluice.actors.settings.settings import Settings
from sluice.jobs.errors import Unreachable
from sluice.jobs.release import release
from sluice.ledger.database.connection import Ledger
from sluice.ledger.schema.migrate import REVISION
from sluice.ops.console import server as server_module
from sluice.ops.console.access import AccessControl
from sluice.ops.console.calls.routes import ROUTES
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.dispatch import Answering
from sluice.ops.console.files import Files
from sluice.ops.console.server import ListenAddress
from sluice.ops.observe.bounded_reader import BoundedReader
from sluice.ops.observe.ledger_probe import LedgerProbe
from sluice.ops.operations.context import OperatorContext
from sluice.ops.operations.installation import Installation
from tests.broker.proxy import Proxy
from tests.jobs.runners.runner_bench import eventually
from tests.ops.caller import Caller
from tests.ops.console_client import TOKEN, serving
from tests.ops.test_metrics import read
from tests.ops.typist import NO_LEDGER
from tests.world import World

#: Seconds within which probes and metrics are answered, and a margin for a busy machine.
BOUND_S = 2.0 + 3.0


@contextmanager
def probed(url: str, *sources: Path) -> Iterator[ListenAddress]:
    """Serve a console with the ledger of this URL, and with these definitions."""
    settings = Settings(ledger_url=url, apps=tuple(map(str, sources)))
    with OperatorContext(settings) as context, closing(Ledger(url)) as ledger:
        installation = Installation(context)
        installation.ledger = ledger
        answering = Answering(ConsoleContext(context, installation), AccessControl(TOKEN), ROUTES, Files())
        with serving(answering.answer, answering.refuse, answering.is_bounded) as place:
            yield place


def caller(place: ListenAddress, *, token: str | None = None) -> Caller:
    return Caller(place.port, **({"Authorization": f"Bearer {token}"} if token else {}))


def test_probes_need_no_token(world: World) -> None:
    with probed(world.url) as place:
        assert caller(place).reads("/healthz") == {"status": "ok"}
        assert caller(place).reads("/readyz") == {"status": "ok"}
        assert caller(place).calls("HEAD", "/readyz", None).status == HTTPStatus.OK
        assert caller(place).gets("/metrics").status == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    "path", ["/healthz/deep", "/readyz/1", "/health", "/nonsense/deep", "/metrics/x", "/healthz%00"]
)
def test_an_unknown_path_is_not_found(path: str, world: World) -> None:
    with probed(world.url) as place:
        assert caller(place).gets(path).status == HTTPStatus.NOT_FOUND


def test_the_metrics_name_the_build(world: World) -> None:
    with probed(world.url) as place:
        found = read(caller(place, token=TOKEN).gets("/metrics").body.decode())
    assert found["sluice_build_info", (release(), REVISION)] == 1
    assert found["sluice_ledger_up", ()] == 1
    assert ("sluice_workers", ("alive",)) in found


def test_the_metrics_name_the_tenant_of_each_app(world: World, tmp_path: Path) -> None:
    source = tmp_path / "apps.yaml"
    source.write_text(
        "a: {job_id: '{x}', bash_cmd: 'true', tenant: risk}\nb: {job_id: '{x}', bash_cmd: 'true'}\n"
    )
    with probed(world.url, source) as place:
        found = read(caller(place, token=TOKEN).gets("/metrics").body.decode())
    named = {labels for name, labels in found if name == "sluice_app_info"}
    assert named == {("a", "risk"), ("b", "default")}


@pytest.fixture(params=["away", "hangs"])
def silent(
    request: pytest.FixtureRequest, world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ListenAddress]:
    """Yield a console that has lost its ledger."""
    monkeypatch.setattr("sluice.ops.observe.ledger_probe.REUSE_S", 0.0)
    with ExitStack() as opened:
        if request.param == "away":
            yield opened.enter_context(probed(NO_LEDGER))
            return
        wire = opened.enter_context(closing(Proxy(world.url, default_port=5432)))
        place = opened.enter_context(probed(wire.url))
        assert caller(place).gets("/readyz").status == HTTPStatus.OK
        read(caller(place, token=TOKEN).gets("/metrics").body.decode())
        wire.freeze()
        yield place
        wire.heal()


@pytest.mark.timeout(120)
def test_without_the_ledger_metrics_are_answered_in_time(silent: ListenAddress) -> None:
    for _ in range(2):
        began = monotonic()
        answer = caller(silent, token=TOKEN).gets("/metrics")
        assert monotonic() - began < BOUND_S
        found = read(answer.body.decode())
    assert answer.status == HTTPStatus.OK
    assert found["sluice_ledger_up", ()] == 0
    assert found["sluice_build_info", (release(), REVISION)] == 1
    assert ("sluice_workers", ("alive",)) not in found


@pytest.mark.timeout(120)
def test_without_the_ledger_the_console_is_healthy_and_not_ready(silent: ListenAddress) -> None:
    assert caller(silent).gets("/healthz").status == HTTPStatus.OK
    began = monotonic()
    answer = caller(silent).gets("/readyz")
    assert monotonic() - began < BOUND_S
    assert (answer.status, answer.headers["Content-Type"]) == (503, "application/problem+json")
    assert "ledger has not answered" in answer.document["detail"]
    assert "127.0.0.1" not in answer.body.decode()


@pytest.mark.timeout(120)
def test_a_ledger_that_is_back_is_reported(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.ops.observe.ledger_probe.REUSE_S", 0.0)
    monkeypatch.setattr("sluice.ops.observe.bounded_reader.GIVEN_UP_S", 1.0)
    with closing(Proxy(world.url, default_port=5432)) as wire, probed(wire.url) as place:
        for answers in (True, False, True, False, True):
            wire.heal() if answers else wire.freeze()
            until = monotonic() + 30
            while (caller(place).gets("/readyz").status == HTTPStatus.OK) is not answers:
                assert monotonic() < until
            found = read(caller(place, token=TOKEN).gets("/metrics").body.decode())
            assert found["sluice_ledger_up", ()] == float(answers)


def test_probes_are_answered_while_all_places_are_taken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "PLACES", 1)
    monkeypatch.setattr("sluice.ops.console.limits.PLACE_WITHIN_S", 0.0)
    with closing(Proxy(world.url, default_port=5432)) as wire, probed(wire.url) as place:
        assert caller(place, token=TOKEN).gets("/api/submissions").status == HTTPStatus.OK
        wire.freeze()
        statuses: list[int] = []

        def take_the_place() -> None:
            """Ask until the request gets the place, which the other requests below may hold for a moment."""
            statuses.append(HTTPStatus.SERVICE_UNAVAILABLE)
            while statuses[-1] == HTTPStatus.SERVICE_UNAVAILABLE:
                statuses.append(caller(place, token=TOKEN).gets("/api/submissions").status)

        waits = Thread(target=take_the_place)
        waits.start()
        until = monotonic() + 20
        while caller(place, token=TOKEN).gets("/api/session").status == HTTPStatus.OK:
            assert monotonic() < until, "the only place is not taken"
        assert caller(place).gets("/healthz").status == HTTPStatus.OK
        assert caller(place, token=TOKEN).gets("/metrics").status == HTTPStatus.OK
        wire.heal()
        waits.join(30)
        assert not waits.is_alive()


def test_many_probes_at_once_read_the_ledger_once() -> None:
    asked, released = [], Event()

    def ask(question: Callable[..., object]) -> list[bool]:
        asked.append(question)
        assert released.wait(20)
        return [True]

    probe = LedgerProbe(ask)
    waiting = [probe.start() for _ in range(50)]
    released.set()
    assert [wait(monotonic() + 20) for wait in waiting] == [True] * 50
    assert probe.answers()
    assert len(asked) == 1


def test_a_slow_read_returns_the_result_of_the_read_before() -> None:
    numbers, gates = count(1), [Event() for _ in range(4)]

    def ask() -> int:
        number = next(numbers)
        assert gates[number - 1].wait(20)
        return number

    reader = BoundedReader(ask, subject="the number", log=logging.getLogger("sluice.test"), late_s=20.0)

    def ends(gate: Event) -> None:
        """End a read after its callers have left, and wait until it has ended."""
        wait = reader.start()
        assert wait(monotonic()) != 4
        gate.set()
        eventually(lambda: reader._current is not None and reader._current.ended_at is not None)

    assert reader.result(0.01) is None
    ends(gates[0])
    assert reader.result(0.01) == 1
    ends(gates[1])
    assert reader.result(0.01) == 2
    gates[2].set()
    assert reader.result(20) == 3
    assert reader.result(0.01) is None, "the third result was returned in time, so it is not late"
    gates[3].set()


def test_a_result_that_came_too_late_is_returned_for_a_limited_time() -> None:
    gate = Event()

    def ask() -> int:
        assert gate.wait(20)
        gate.clear()
        return 1

    reader = BoundedReader(ask, subject="the number", log=logging.getLogger("sluice.test"), late_s=0.0)
    assert reader.result(0.01) is None
    gate.set()
    eventually(lambda: reader._current is not None and reader._current.ended_at is not None)
    assert reader.result(0.01) is None
    gate.set()


def test_an_outage_is_logged_at_its_begin_and_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[int | Exception] = [1, *[Unreachable("It is away.")] * 3, 2, 3]

    def ask() -> int:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    reader = BoundedReader(ask, subject="the number", log=logging.getLogger("sluice.test"))
    with caplog.at_level("INFO", "sluice.test"):
        assert [reader.result(20) for _ in range(6)] == [1, None, None, None, 2, 3]
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("WARNING", "the number: unknown for now: It is away."),
        ("INFO", "the number: known again"),
    ]


def test_a_defect_is_logged_once_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    reader = BoundedReader(lambda: 1 // 0, subject="the number", log=logging.getLogger("sluice.test"))
    assert [reader.result(20), reader.result(20)] == [None, None]
    (record,) = caplog.records
    assert record.exc_info is not None
