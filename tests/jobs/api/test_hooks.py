"""Hooks of a worker: its start, its stop, and what is around each run."""

import threading
from pathlib import Path
from textwrap import dedent

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.sources.functions import find_object
from sluice.jobs.errors import BadSetting
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.runners.function.started_hooks import StartedHooks
from sluice.testing import run

pytestmark = pytest.mark.usefixtures("here")

TEXT = """
from contextlib import contextmanager
from sluice import Hooks, Job, app

class Mine(Hooks):
    def worker_started(self):
        print("started")

    def worker_stopping(self):
        print("stopping")

    @contextmanager
    def around(self, job):
        print("before", job.key)
        try:
            yield
        except KeyError:
            print("suppressed")
        print("after", job.key)

hooks = Mine()

@app
def plain(n: int):
    print("runs")

@app
def fails(n: int):
    raise ValueError("no")

@app
def suppressed(n: int):
    raise KeyError("no")

@app
async def later(n: int):
    print("runs")

@app(isolate=True)
def apart(n: int):
    print("runs")
"""


@pytest.fixture
def source() -> str:
    Path("a.py").write_text(TEXT)
    return "a.py"


def _printed(outcome: Outcome) -> list[str]:
    return outcome.output.splitlines()


@pytest.mark.parametrize("app", ["plain", "later"])
def test_a_run_is_between_the_two_halves_of_around(
    source: str, app: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _printed(run(source, app, "1")) == ["before 1", "runs", "after 1"]
    assert capsys.readouterr().out.splitlines() == ["started", "before 1", "runs", "after 1", "stopping"]


def test_an_isolated_function_has_its_hooks_in_its_own_process(source: str) -> None:
    assert _printed(run(source, "apart", "1")) == ["started", "before 1", "runs", "after 1", "stopping"]


def test_an_error_of_the_function_passes_through_the_hooks(source: str) -> None:
    outcome = run(source, "fails", "1")
    assert (outcome.ending, str(outcome.error).partition("\n")[0]) == (Ending.ERROR, "ValueError: no")


def test_a_hook_may_suppress_an_error(source: str) -> None:
    outcome = run(source, "suppressed", "1")
    assert (outcome.ending, _printed(outcome)) == (Ending.DONE, ["before 1", "suppressed", "after 1"])


def test_an_error_of_a_hook_fails_the_round() -> None:
    Path("b.py").write_text(
        dedent("""
        from sluice import Hooks, app

        class Broken(Hooks):
            def around(self, job):
                raise LookupError("no pool")

        hooks = Broken()

        @app
        def f(): ...
        """)
    )
    assert str(run("b.py", "f", "").error).startswith("LookupError: no pool")


def test_hooks_of_a_folder_apply_to_all_of_its_files() -> None:
    Path("jobs_of").mkdir()
    Path("jobs_of/shared.py").write_text(TEXT)
    Path("jobs_of/other.py").write_text("from sluice import app\n\n@app\ndef other(n: int): ...\n")
    assert len(load(["jobs_of"])["other"].hooks) == 1


def test_hooks_that_two_files_share_are_used_once(source: str) -> None:
    Path("b.py").write_text("from sluice import app\nfrom a import hooks\n\n@app\ndef f(): ...\n")
    paths = load(["b.py"])["f"].hooks
    assert len(StartedHooks(find_object, ["a:hooks"]).of(paths)) == 1


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("nowhere:hooks", "The hooks nowhere:hooks cannot be loaded: there is no Python module 'nowhere'"),
        ("a.py:Mine", "a.py:Mine is no instance of Hooks."),
        ("a.py:nothing", "a.py:nothing is no instance of Hooks."),
    ],
)
def test_hooks_that_do_not_exist_are_a_wrong_setting(source: str, path: str, what: str) -> None:
    with pytest.raises(BadSetting, match=what.replace(".", r"\.")):
        StartedHooks(find_object, [path]).of()


def test_an_error_at_the_start_ends_the_worker() -> None:
    Path("c.py").write_text(
        dedent("""
        from sluice import Hooks

        class Broken(Hooks):
            def worker_started(self):
                raise ConnectionError("no database")

        hooks = Broken()
        """)
    )
    with pytest.raises(BadSetting, match=r"The hooks c\.py:hooks cannot be started: .*no database"):
        StartedHooks(find_object, ["c.py:hooks"]).of()


def test_hooks_are_started_once_by_any_number_of_threads(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    started = StartedHooks(find_object, ["a.py:hooks"])
    threads = [threading.Thread(target=started.of) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    started.stop()
    started.stop()
    assert capsys.readouterr().out.splitlines() == ["started", "stopping"]
