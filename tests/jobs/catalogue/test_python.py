"""Definitions from Python modules, files and folders, and the faults of a source that cannot be imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sluice
from sluice.jobs.catalogue import Catalogue, load, resolve_function
from sluice.jobs.errors import DefinitionError
from tests.jobs.catalogue.sources import DECORATED, faults, write

pytestmark = pytest.mark.usefixtures("here")


def _check(catalogue: Catalogue, place: str) -> None:
    first, second = catalogue.values()
    assert (first.name, first.job_type, first.function_path) == ("first", "python", f"{place}:first")
    assert first.function is not None
    assert first.function(1, 2) == (1, 2)
    assert (second.name, second.isolate, second.policy.timeout_s) == ("second.app", True, 2.0)
    assert second.read_key("2014-06-01_07") == {"day": 20140601, "n": 7}, "it takes over the parent's kinds"
    for app in catalogue.values():
        assert resolve_function(app.function_path or "").__name__ == getattr(app.function, "__name__", "")


def test_a_module_in_the_current_folder_can_be_loaded() -> None:
    write("acme/__init__.py", "")
    write("acme/pipelines.py", DECORATED)
    _check(load(["acme.pipelines"]), "acme.pipelines")


def test_a_package_can_be_loaded_like_a_module() -> None:
    write("acme/__init__.py", "from acme.pipelines import first, second")
    write("acme/pipelines.py", DECORATED)
    _check(load(["acme"]), "acme")


def test_a_python_file_can_be_loaded(here: Path) -> None:
    _check(load([write("some/pipelines.py", DECORATED)]), str(here / "some/pipelines.py"))


def test_another_process_finds_the_function_of_a_file() -> None:
    app = load([write("some/pipelines.py", DECORATED)]).app("first")
    code = "import sys; from sluice.jobs.catalogue import resolve_function as r; print(r(sys.argv[1])(1, 2))"
    rooms = str(Path(sluice.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code, str(app.function_path)],
        env={"PYTHONPATH": rooms},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "(1, 2)\n"


def test_a_folder_with_one_app_per_file_can_be_loaded(here: Path) -> None:
    write("jobs_here/one.py", "from sluice import app\n@app(job_id='{n}')\ndef one(n): ...")
    write("jobs_here/two.py", "from sluice import app\nimport both\n@app(job_id='{n}')\ndef two(n): ...")
    write("jobs_here/both.py", "N = 1")
    catalogue = load(["jobs_here"])
    assert {app.name: app.function_path for app in catalogue.values()} == {
        "one": f"{here / 'jobs_here/one.py'}:one",
        "two": f"{here / 'jobs_here/two.py'}:two",
    }
    assert {app.origin for app in catalogue.values()} == {"jobs_here/one.py", "jobs_here/two.py"}


def test_default_job_id_of_a_source_overrides_that_of_the_caller() -> None:
    write("a.py", "from sluice import app\ndefault_job_id = '{own}'\n@app()\ndef a(): ...")
    write("b.py", "from sluice import app\n@app()\ndef b(): ...")
    catalogue = load(["a.py", "b.py"], default_job_id="{given}")
    assert [app.template.names for app in catalogue.values()] == [("own",), ("given",)]


def test_a_decorated_function_can_still_be_called() -> None:
    write("acme.py", DECORATED)
    load(["acme"])
    first = sys.modules["acme"].first
    assert (first(day=1, n=2), first.__name__) == ((1, 2), "first")


def test_each_load_reads_a_file_again() -> None:
    write("a.py", "from sluice import app\n@app(job_id='{n}')\ndef a(n): ...")
    load(["a.py"])
    write("a.py", "from sluice import app\n@app(job_id='{longer_than_before}')\ndef a(n): ...")
    assert load(["a.py"]).app("a").template.names == ("longer_than_before",)


def test_an_edit_that_keeps_size_and_time_of_a_file_is_read_too(here: Path) -> None:
    """Python's cache of compiled files would not detect the edit."""
    text = "from sluice import app\n@app(job_id='{n}')\ndef a(n): return %d"
    write("a.py", text % 1)
    load(["a.py"])
    before = (here / "a.py").stat()
    write("a.py", text % 2)
    os.utime("a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    function = load(["a.py"]).app("a").function
    assert function is not None
    assert function(7) == 2
    assert not (here / "__pycache__").exists()


def test_a_file_that_becomes_faulty_leaves_the_loaded_module_unchanged() -> None:
    write(
        "a.py",
        "import sys\nfrom sluice import app\n@app(job_id='{n}')\ndef a(n): return sys.modules[__name__].a.name",
    )
    function = load(["a.py"]).app("a").function
    assert function is not None
    write("a.py", "1 / 0")
    faults("a.py")
    assert function(7) == "a"


def test_an_imported_module_keeps_its_digest_when_its_file_changes(here: Path) -> None:
    """An imported module is not reloaded, so its digest must not be that of the edited file."""
    write("acme.py", "from sluice import app\n@app(job_id='{n}')\ndef a(n): return 1")
    before = load(["acme"]).app("a").digest
    write("acme.py", "from sluice import app\n@app(job_id='{n}')\ndef a(n): return 2_000")
    assert load(["acme"]).app("a").digest == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n\ndef broken(\n", "bad.py, line 3: SyntaxError: "),
        (
            "import nowhere_at_all",
            "bad.py, line 1: ModuleNotFoundError: No module named 'nowhere_at_all'",
        ),
        ("\n\n1 / 0", "bad.py, line 3: ZeroDivisionError: division by zero"),
        ("import json\njson.loads('')", "bad.py, line 2: JSONDecodeError: Expecting value"),
        ("import sys\nsys.exit(3)", "bad.py, line 2: SystemExit: 3"),
        ("def f(): raise KeyError('k')\n\nf()", "bad.py, line 1: KeyError: 'k'"),
        ("x = 1", "it defines no app"),
    ],
)
@pytest.mark.parametrize("source", ["bad", "bad.py"])
def test_an_error_during_import_is_reported_with_file_and_line(text: str, words: str, source: str) -> None:
    write("bad.py", text)
    ((named, app, what),) = faults(source)
    assert (named, app) == (source, "")
    assert words in what
    assert "Traceback" not in what


def test_one_bad_file_does_not_hide_the_others() -> None:
    write("here/a.py", "1 / 0")
    write(
        "here/b.py",
        "from sluice import app\n@app(job_id='{n}', depends_on={'app_name': ['a']})\ndef b(): ...",
    )
    write("here/c.py", "from sluice import app\n@app(job_id='x')\ndef c(): ...")
    found = faults("here")
    assert [(source, app) for source, app, _ in found] == [
        ("here/a.py", ""),
        ("here/b.py", "b"),
        ("here/c.py", "c"),
    ]
    assert found[1][2] == "depends_on: there is no app 'a' among the apps that could be read"


def test_a_missing_function_is_reported() -> None:
    write("acme.py", DECORATED)
    for path, words in {
        "acme:third": "acme has no function 'third'",
        "nowhere_at_all:f": "there is no Python module 'nowhere_at_all'",
        "acme": "'acme' is not the path of a function",
        "acme:default_job_id": "acme has no function",
    }.items():
        with pytest.raises(DefinitionError, match=words):
            resolve_function(path)


def test_a_document_may_name_a_function_by_its_path() -> None:
    write("acme.py", "def work(n): return n")
    app = load([write("a.json", '{"a": {"job_id": "{n}", "function": "acme:work"}}')]).app("a")
    assert (app.job_type, app.function_path) == ("python", "acme:work")
    assert app.function is not None
    assert app.function(7) == 7
