"""Thread that checks the definitions and serves the queues of new apps."""

import json
from pathlib import Path
from threading import Event
from threading import enumerate as enumerate_threads

import pytest

from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import DefinitionReloader, Definitions
from sluice.jobs.errors import Unreachable

A = {"job_id": "{x}", "bash_cmd": "true"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "apps.json"
    path.write_text(json.dumps({"a": A}))
    return path


def test_every_app_is_served_unless_the_list_of_queues_is_fixed(file: Path) -> None:
    held, served = Definitions(Settings(apps=(str(file),))), set[str]()
    file.write_text(json.dumps({"a": A, "b": A}))
    DefinitionReloader(held, None).look()
    assert "b" in held.current
    DefinitionReloader(held, served.add).look()
    assert served == {"a", "b"}


def test_a_queue_that_cannot_be_served_is_logged_once_and_retried(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text(json.dumps({"a": A, "b": A}))
    is_up, served = Event(), list[str]()

    def also_serve(queue: str) -> None:
        if queue == "a" and not is_up.is_set():
            raise Unreachable("RabbitMQ cannot be used.", advice="Start it.")
        served.append(queue)

    reloader = DefinitionReloader(Definitions(Settings(apps=(str(file),))), also_serve)
    for _ in range(3):
        reloader.look()
    assert served == ["b", "b", "b"], "a queue that fails must not delay another queue"
    is_up.set()
    reloader.look()
    assert served[-2:] == ["a", "b"]
    told = [record.getMessage() for record in caplog.records]
    assert told == ["queue a is not served yet: RabbitMQ cannot be used. Start it."]


def test_every_fifth_check_is_also_of_modules(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, asked = Definitions(Settings(apps=(str(file),))), list[bool]()
    monkeypatch.setattr(held, "look", lambda *, also_modules: asked.append(also_modules))
    reloader = DefinitionReloader(held, None)
    for _ in range(10):
        reloader.look()
    assert asked == 2 * [False, False, False, False, True]


def test_the_checks_continue_after_an_unexpected_error(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sluice.actors.worker.definitions.LOOK_EVERY_S", 0.001)
    looks, third = [], Event()

    def also_serve(queue: str) -> None:
        looks.append(queue)
        if len(looks) == 1:
            raise RuntimeError("unforeseen")
        if len(looks) == 3:
            third.set()

    reloader = DefinitionReloader(Definitions(Settings(apps=(str(file),))), also_serve)
    reloader.start()
    assert third.wait(10)
    reloader.end()
    assert "reloader" not in {thread.name for thread in enumerate_threads()}
    assert caplog.text.count("the definitions could not be checked") == 1
