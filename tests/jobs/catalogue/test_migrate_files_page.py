"""docs/migrate-files.md: the files of the page are loaded, and have the documented jobs."""

import re
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load, resolve_function
from sluice.jobs.model.names import JobName
from sluice.testing import fly, run
from tests.planner.definitions import children, parents

PAGE = (Path(__file__).parents[3] / "docs" / "migrate-files.md").read_text()
SUM = """#!/bin/sh
echo $(($1 + $2 + $3))
"""


class Rows:
    """Connection that records the executed statements."""

    def __init__(self) -> None:
        self.executed: list[str] = []

    def execute(self, statement: str, values: tuple[object, ...]) -> None:
        self.executed.append(statement.split(maxsplit=1)[0])

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files of the page; Stau's are in ``src``."""
    (tmp_path / "src").mkdir()
    for name, code in re.findall(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        is_stau = name.startswith(("stau_", "job_"))
        (tmp_path / ("src" if is_stau else ".") / name).write_text(code)
    (found,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "tasks.json").write_text(found)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_file_of_stolos_can_be_loaded(folder: Path) -> None:
    catalogue = load(["tasks.json"])
    assert len(catalogue) == 4
    models = {each.key for each in children(catalogue, JobName("preprocess", "20140101_1234"))}
    assert models == {"20140101_1234_purchaseRevenue", "20140101_1234_numberOfPageviews"}
    assert [len(found) for found in parents(catalogue, JobName("summary", "20150101")).values()] == [200]


def test_a_folder_of_stau_can_be_loaded_unchanged(folder: Path) -> None:
    catalogue = load(["src"])
    assert [*catalogue] == ["job_goodbye", "job_hello"]
    chunking = catalogue.app("job_goodbye").chunking
    assert chunking
    assert [(each.app, each.lag_s_max) for each in chunking.dependencies] == [("job_hello", 1200)]
    assert run("src", "job_hello", "0-1").output == "Hello work ID 0\nHello work ID 1\n"


def test_a_task_of_tdf_runs_its_program_and_fails_by_its_stderr(folder: Path) -> None:
    program = folder / "run.sh"
    program.write_text(SUM)
    program.chmod(0o755)
    with (folder / "tasks.yaml").open("a") as definitions:
        definitions.write("  source: file:run.sh\n")
    outcome = run("tasks.yaml", "task", "1", program="sum", input="1 2 3")
    assert (outcome.error, outcome.output.splitlines()[-1]) == (None, "6")
    program.write_text("#!/bin/sh\necho oops >&2\n")
    assert run("tasks.yaml", "task", "2").error


def test_a_flight_is_a_saga(folder: Path) -> None:
    saga = load(["bucket.py"]).app("bucket")
    assert (saga.job_type, saga.template.names) == ("saga", ("name",))
    rows = Rows()
    flown = fly(resolve_function(saga.function_path or ""), inputs={"name": "photos"}, connection=rows)
    assert (flown.ending, rows.executed) == ("succeeded", ["insert"])


def test_nodes_of_chronon_are_apps_with_tables(folder: Path) -> None:
    catalogue = load(["features.yaml"])
    assert catalogue.confs == {"features": {"offline": "joined"}}
    assert [*catalogue["grouped"].parent_apps] == ["staging"]
    partitioning = catalogue["grouped"].partitioning
    assert partitioning
    assert partitioning.step_size == 7


def test_a_conf_planner_converts_the_queries(folder: Path) -> None:
    catalogue = load(["queries.yaml"])
    assert [*catalogue["totals"].parent_apps] == ["visits"]
