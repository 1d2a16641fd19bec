"""Definitions that change while a process uses them. No test waits: each calls ``look`` itself."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.jobs.catalogue.sources import changes
from sluice.jobs.catalogue.sources.remote import Stored, Unread
from sluice.jobs.errors import DefinitionError

A = {"job_id": "{x}", "bash_cmd": "echo one"}
ADDRESS = "redis://user:secret@host/0/apps"
PYTHON = """
from sluice import app

@app(job_id="{x}")
def %s(x): return %d
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder for this test, and remove the modules that were imported from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__dict__", {}).get("__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return a function that returns the log lines since its last call."""
    caplog.set_level("INFO", logger="sluice.definitions")

    def take() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    return take


class Server:
    """Redis as the definitions read it: the stored value, or the reason why it cannot be read."""

    def __init__(self, stored: Stored | Unread) -> None:
        self.stored = stored
        self.asked = 0

    def __call__(self, address: str) -> Stored | Unread:
        self.asked += 1
        return self.stored


def write(**apps: object) -> None:
    Path("apps.json").write_text(json.dumps(apps))


def definitions(*sources: str, server: Server | None = None) -> Definitions:
    settings = Settings(apps=sources)
    return Definitions(settings, fetch=server) if server else Definitions(settings)


def test_a_changed_file_is_loaded_by_the_next_check(here: Path, said: Callable[[], list[str]]) -> None:
    write(a=A, b=A)
    held = definitions("apps.json")
    first = held.current
    held.look()
    assert held.current is first, "nothing has changed"
    write(a=A | {"bash_cmd": "echo two"}, c=A)
    held.look()
    assert [*held.current] == ["a", "c"]
    assert held.current.app("a").bash_cmd == "echo two"
    assert first.app("a").bash_cmd == "echo one", "a catalogue that is still held does not change"
    assert said() == ["the definitions have changed: 2 apps; new: c; gone: b"]
    held.look()
    assert said() == []


def test_a_rewritten_file_with_the_same_content_is_no_change(
    here: Path, said: Callable[[], list[str]]
) -> None:
    write(a=A)
    held = definitions("apps.json")
    first = held.current
    write(a=A)
    held.look()
    assert held.current is first
    assert said() == []


def test_faults_keep_the_old_definitions_and_are_logged_once(
    here: Path, said: Callable[[], list[str]]
) -> None:
    write(a=A)
    held = definitions("apps.json")
    first = held.current
    write(a=A | {"max_fail": 1}, b=A | {"colour": "red"})
    for _ in range(3):
        held.look()
    assert held.current is first
    assert said() == [
        "the definitions stay as they were: apps.json: a: unknown option 'max_fail' (did you mean max_fails?)",
        "the definitions stay as they were: apps.json: b: unknown option 'colour'",
    ]


def test_a_second_fault_is_logged_without_repeating_the_first(
    here: Path, said: Callable[[], list[str]]
) -> None:
    write(a=A)
    held = definitions("apps.json")
    write(a=A | {"max_fail": 1})
    held.look()
    said()
    write(a=A | {"max_fail": 1}, b=A | {"colour": 1})
    held.look()
    (line,) = said()
    assert "b: unknown option 'colour'" in line


def test_fixed_definitions_are_loaded(here: Path, said: Callable[[], list[str]]) -> None:
    write(a=A)
    held = definitions("apps.json")
    Path("apps.json").write_text("{")
    held.look()
    said()
    write(a=A, b=A)
    held.look()
    assert [*held.current] == ["a", "b"]
    assert said() == ["the definitions have changed: 2 apps; new: b"]


def test_a_reverted_fault_keeps_the_catalogue(here: Path, said: Callable[[], list[str]]) -> None:
    write(a=A)
    held = definitions("apps.json")
    first = held.current
    Path("apps.json").unlink()
    held.look()
    assert "the file cannot be read: No such file" in said()[0]
    write(a=A)
    held.look()
    assert held.current is first
    assert said() == ["the definitions match the loaded ones again"]
    Path("apps.json").unlink()
    held.look()
    assert "No such file" in said()[0], "it is news again"


def test_a_changed_python_file_is_executed_again(here: Path) -> None:
    Path("one.py").write_text(PYTHON % ("one", 1))
    held = definitions("one.py")
    began_with = held.current.app("one").function
    Path("one.py").write_text(PYTHON % ("one", 2))
    held.look()
    now = held.current.app("one").function
    assert began_with is not None
    assert now is not None
    assert (began_with("x"), now("x")) == (1, 2)


def test_files_added_to_or_removed_from_a_folder_change_its_apps(here: Path) -> None:
    Path("folder").mkdir()
    Path("folder/one.py").write_text(PYTHON % ("one", 1))
    held = definitions("folder")
    Path("folder/two.py").write_text(PYTHON % ("two", 2))
    held.look()
    assert [*held.current] == ["one", "two"]
    Path("folder/one.py").unlink()
    held.look()
    assert [*held.current] == ["two"]


def test_a_changed_module_is_not_imported_again(here: Path, said: Callable[[], list[str]]) -> None:
    Path("acme").mkdir()
    Path("acme/__init__.py").write_text("")
    Path("acme/pipelines.py").write_text("from acme import work\n" + PYTHON % ("one", 1))
    Path("acme/work.py").write_text("N = 1")
    held = definitions("acme.pipelines")
    first = held.current
    Path("acme/pipelines.py").write_text(PYTHON % ("renamed", 2))
    Path("acme/work.py").write_text("N = 20")
    for _ in range(3):
        held.look()
    assert held.current is first
    assert said() == ["acme.pipelines, acme.work changed; restart the workers to load the change"]
    Path("acme/work.py").unlink()
    held.look()
    Path("acme/work.py").write_text("N = 300")
    held.look()
    assert said() == ["acme.work changed; restart the workers to load the change"]


def test_a_change_in_a_module_imported_by_a_file_needs_a_restart(
    here: Path, said: Callable[[], list[str]]
) -> None:
    Path("helping.py").write_text("N = 1")
    Path("one.py").write_text("import helping\n" + PYTHON % ("one", 1))
    held = definitions("one.py")
    Path("helping.py").write_text("N = 20")
    held.look()
    assert said() == ["helping changed; restart the workers to load the change"]


def test_sluices_own_modules_are_not_checked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("one.py").write_text(PYTHON % ("one", 1))
    read = list[str]()
    monkeypatch.setattr(changes, "_seen", read.append)
    definitions("one.py").look()
    assert not [file for file in read if file == changes.__file__]


def test_a_check_without_modules_reads_only_modules_that_are_new(
    here: Path, said: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("helping.py").write_text("N = 1")
    Path("one.py").write_text("import helping\n" + PYTHON % ("one", 1))
    held = definitions("one.py")
    Path("helping.py").write_text("N = 20")
    Path("late.py").write_text("N = 1")
    importlib.import_module("late")
    read, seen = list[str](), changes._seen

    def note(file: str) -> tuple[int, int] | None:
        read.append(Path(file).name)
        return seen(file)

    monkeypatch.setattr(changes, "_seen", note)
    for _ in range(3):
        held.look(also_modules=False)
    assert (read, said()) == (["late.py"], [])
    Path("late.py").write_text("N = 20")
    held.look()
    assert said() == ["helping, late changed; restart the workers to load the change"]


def test_the_published_definitions_name_why_a_change_is_not_applied(here: Path) -> None:
    Path("helping.py").write_text("N = 1")
    Path("one.py").write_text("import helping\n" + PYTHON % ("one", 1))
    held = definitions("one.py")
    first, since = held.known, held.since
    held.look()
    assert held.known is first
    Path("one.py").write_text("import helping\n" + PYTHON % ("one", 2))
    held.look()
    second = held.known
    assert (second.problem, second.digest != first.digest, held.since > since) == (None, True, True)
    Path("one.py").write_text("no Python")
    held.look()
    assert held.known.digest == second.digest
    assert held.known.problem is not None
    assert "one.py" in held.known.problem
    Path("helping.py").write_text("N = 20")
    held.look()
    assert held.known.problem.startswith("helping changed, and Python modules are reloaded only by a restart")
    assert held.known.problem.endswith("(and 1 more)")


def test_a_changed_text_in_redis_is_loaded(said: Callable[[], list[str]]) -> None:
    server = Server(json.dumps({"a": A}))
    held = definitions(ADDRESS, server=server)
    assert held.current.app("a").origin == "redis://host/0/apps"
    server.stored = {"a": json.dumps(A), "b": json.dumps(A)}
    held.look()
    assert [*held.current] == ["a", "b"]
    server.stored = {"b": json.dumps(A), "a": json.dumps(A)}
    held.look()
    assert said() == ["the definitions have changed: 2 apps; new: b"], "the order of fields means nothing"


def test_a_load_uses_the_text_that_was_compared_and_reads_it_once() -> None:
    server = Server(json.dumps({"a": A}))
    held = definitions(ADDRESS, server=server)
    assert server.asked == 1
    server.stored = json.dumps({"b": A})
    held.look()
    assert server.asked == 2


def test_an_unreachable_redis_keeps_the_old_definitions(here: Path, said: Callable[[], list[str]]) -> None:
    write(c=A)
    server = Server(json.dumps({"a": A}))
    held = definitions(ADDRESS, "apps.json", server=server)
    first, stored = held.current, server.stored
    server.stored = Unread("Redis does not answer")
    for _ in range(3):
        held.look()
    write(c=A, d=A)
    held.look()
    assert held.current is first
    assert said() == ["the definitions stay as they were: redis://host/0/apps: Redis does not answer"]
    server.stored = stored
    held.look()
    assert [*held.current] == ["a", "c", "d"]


def test_faulty_definitions_at_the_start_raise_an_error(here: Path) -> None:
    write(a=A | {"max_fail": 1})
    with pytest.raises(DefinitionError) as caught:
        definitions("apps.json", ADDRESS, server=Server(Unread("Redis does not answer")))
    assert [fault.source for fault in caught.value.faults] == ["apps.json", "redis://host/0/apps"]
    assert "secret" not in caught.value.what
