"""Files in Stau's form: a mapping STAU_CONFIG beside the functions, and no pipeline file."""

from pathlib import Path

import pytest

from sluice.jobs.catalogue import Catalogue, load, resolve_function
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.model.app import App
from tests.jobs.catalogue.sources import faults, write

pytestmark = pytest.mark.usefixtures("here")

HELLO = """
    STAU_CONFIG = {
        "job_type": "hello", "chunk_size": 1, "dependencies": [], "main_func": "greet",
        "data_sources": ["a table"], "data_sinks": ["stdout"],
        "is_streaming": False, "allow_multiple_jobs": True,
    }
    def greet(work_ids=None, **kwargs):
        return [f"Hello {work_id}" for work_id in work_ids]
"""
GOODBYE = """
    STAU_CONFIG = {
        "chunk_size": 2, "max_fails": 3, "timeout": "10m", "isolate": True,
        "dependencies": [{"job_type": "hello", "max_lag": 20, "custom_kwargs": {"k": 1}, "unique": True}],
    }
    def select_work(**kwargs): return [0, 1]
    def main(work_ids, **kwargs): return work_ids
"""
DEFAULT = "def {name}(**kwargs): return [{number}]"


def _chunking(app: App) -> Chunking:
    assert app.chunking
    return app.chunking


def _config(words: str, rest: str = "def main(**kwargs): ...") -> str:
    return f"STAU_CONFIG = {words}\n{rest}\n"


def test_a_folder_of_stau_files_is_a_pipeline(here: Path) -> None:
    write("src/hello.py", HELLO)
    write("src/goodbye.py", GOODBYE)
    write("src/both.py", "N = 1")
    catalogue = load(["src"])
    hello, goodbye = catalogue.app("hello"), catalogue.app("goodbye")
    assert [*catalogue] == ["goodbye", "hello"]
    assert (hello.origin, hello.job_type, hello.isolate) == ("src/hello.py", "python", False)
    assert hello.function_path == f"{here / 'src/hello.py'}:greet"
    assert resolve_function(hello.function_path)([1, 2]) == ["Hello 1", "Hello 2"]
    assert _chunking(hello).allow_multiple_jobs
    assert (_chunking(hello).data_sources, _chunking(hello).data_sinks) == (("a table",), ("stdout",))
    assert (goodbye.policy.max_fails, goodbye.policy.timeout_s, goodbye.isolate) == (3, 600, True)
    assert _chunking(goodbye).select_path == f"{here / 'src/goodbye.py'}:select_work"
    (dependency,) = _chunking(goodbye).dependencies
    assert (dependency.app, dependency.lag_s_max, dependency.kwargs) == ("hello", 1200, {"k": 1})


def test_a_single_stau_file_can_be_loaded() -> None:
    assert [*load([write("src/hello.py", HELLO)])] == ["hello"]


def test_stau_files_can_be_loaded_as_modules() -> None:
    write("acme/__init__.py", "")
    write("acme/hello.py", HELLO)
    write("acme/goodbye.py", GOODBYE)
    catalogue = load(["acme.hello", "acme.goodbye"])
    assert catalogue.app("hello").function_path == "acme.hello:greet"
    assert _chunking(catalogue.app("goodbye")).select_path == "acme.goodbye:select_work"


def test_a_stau_file_may_also_contain_decorated_functions() -> None:
    text = "from sluice import app\nSTAU_CONFIG = {'chunk_size': 1}\ndef main(): ...\n@app(job_id='{n}')\ndef b(): ..."
    assert {*load([write("a.py", text)])} == {"a", "b"}


def test_an_option_overrides_the_function_of_the_same_name() -> None:
    text = """
        def select_work(): return [1]
        def other(): return [2]
        def main(): ...
        STAU_CONFIG = {"chunk_size": 1, "select_work": other}
    """
    select = _chunking(load([write("a.py", text)]).app("a")).select
    assert select
    assert select() == [2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_config("{'chunk_size': 1, 'job_type': 'hallo'}"), "'hallo' is not the name of its file, hello"),
        (_config("{'chunk_size': 1, 'job_type': 7}"), "job_type: 7 is not the name of its file, hello"),
        (_config("{'chunk_size': 1}", "def other(): ..."), "main_func: the file has no function 'main'"),
        (_config("{'chunk_size': 1, 'main_func': 'run'}"), "main_func: the file has no function 'run'"),
        (_config("{'chunk_size': 1, 'main_func': 'N'}", "N = 1"), "main_func: the file has no function 'N'"),
        (_config("{'chunk_size': 1, 'main_func': print}"), "main_func: the file has no function <built-in"),
        (_config("{}"), "chunk_size: None is not a whole number from 1 on"),
        (_config("['hello']"), "an app is a mapping of options; this is ['hello']"),
        (_config("{'chunk_size': 1, 'is_streaming': 'no'}"), "is_streaming: 'no' is neither true nor false"),
        (
            _config("{'chunk_size': 1, 'mainfunc': 'f'}"),
            "unknown option 'mainfunc' (did you mean main_func?)",
        ),
        (_config("{'chunk_size': 1, 'job_id': '{x}'}"), "job_id: an app with chunk_size has no keys"),
        (_config("{'chunk_size': 1, 'bash_cmd': 'true'}"), "an app of job_type python has no bash_cmd"),
        (
            _config("{'chunk_size': 1}", "select_work = [1]\ndef main(): ..."),
            "select_work: [1] is no function",
        ),
    ],
)
@pytest.mark.parametrize("source", ["hello", "hello.py", "src"])
def test_faults(text: str, words: str, source: str) -> None:
    file = write("src/hello.py" if source == "src" else "hello.py", text)
    ((named, _, what),) = faults(source)
    assert named == ("hello" if source == "hello" else file)
    assert words in what


def test_faults_of_several_files_are_reported_together() -> None:
    write("src/hello.py", "1 / 0")
    write("src/goodbye.py", GOODBYE)
    (of_goodbye, of_hello) = faults("src")
    assert of_goodbye[2] == "dependencies: there is no app 'hello' among the apps that could be read"
    assert "src/hello.py, line 1: ZeroDivisionError" in of_hello[2]


def test_files_that_depend_on_each_other_in_a_circle_are_a_fault() -> None:
    for name, parent in {"a": "b", "b": "a"}.items():
        need = f"{{'job_type': '{parent}', 'max_lag': 0}}"
        write(f"src/{name}.py", _config(f"{{'chunk_size': 1, 'dependencies': [{need}]}}"))
    assert faults("src") == [("src/a.py", "a", "the apps depend on each other in a circle: a -> b -> a")]


# Default work IDs of a source.


def _defaults(catalogue: Catalogue) -> dict[str, object]:
    asked = {name: _chunking(app).default_ids for name, app in catalogue.items() if app.chunking}
    return {name: default() if default else None for name, default in asked.items()}


@pytest.mark.parametrize("name", ["default_work_ids", "get_default_work_ids"])
def test_one_file_may_set_default_work_ids_for_its_folder(name: str) -> None:
    write("src/hello.py", HELLO)
    write("src/goodbye.py", GOODBYE)
    write("src/ids.py", DEFAULT.format(name=name, number=7))
    assert _defaults(load(["src"])) == {"goodbye": [7], "hello": [7]}


def test_a_module_may_set_default_work_ids_for_itself() -> None:
    write("hello.py", HELLO)
    default = DEFAULT.format(name="get_default_work_ids", number=3)
    write("goodbye.py", f"{default}\n{_config(str({'chunk_size': 1}))}")
    assert _defaults(load(["hello", "goodbye"])) == {"hello": None, "goodbye": [3]}


def test_default_work_ids_may_be_a_path_and_apply_to_their_source_only() -> None:
    write("acme.py", DEFAULT.format(name="every_id", number=3))
    write("src/hello.py", f"default_work_ids = 'acme:every_id'\n{HELLO.replace(chr(10) + '    ', chr(10))}")
    write("goodbye.py", GOODBYE)
    assert _defaults(load(["src", "goodbye.py"])) == {"hello": [3], "goodbye": None}


def test_a_file_may_import_the_default_work_ids_of_its_folder() -> None:
    write("src/hello.py", HELLO)
    write("src/ids.py", DEFAULT.format(name="default_work_ids", number=7))
    write("src/other.py", "from ids import default_work_ids")
    assert _defaults(load(["src"])) == {"hello": [7]}


def test_two_files_of_a_folder_cannot_both_set_default_work_ids() -> None:
    write("src/hello.py", HELLO)
    for file, name in {"one": "default_work_ids", "two": "get_default_work_ids"}.items():
        write(f"src/{file}.py", DEFAULT.format(name=name, number=1))
    assert faults("src") == [
        (
            "src",
            "",
            "default_work_ids: it is set in one.py, two.py and applies to the whole folder; set it once",
        )
    ]


def test_a_file_cannot_set_default_work_ids_under_both_names() -> None:
    both = "\n".join(
        DEFAULT.format(name=name, number=1) for name in ("default_work_ids", "get_default_work_ids")
    )
    write("hello.py", f"{both}\n{_config(str({'chunk_size': 1}))}")
    for source in ("hello", "hello.py"):
        ((_, app, what),) = faults(source)
        assert app == ""
        assert "are two names of one option; write only one" in what


def test_default_work_ids_must_be_a_function() -> None:
    write("src/hello.py", HELLO)
    write("src/ids.py", "default_work_ids = [1, 2]")
    assert faults("src") == [
        ("src/ids.py", "", "default_work_ids: [1, 2] is no function; write package.module:name")
    ]
