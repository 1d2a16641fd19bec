"""Where definitions come from: files, modules, folders; and what is said when they cannot be read."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

import jobs
from jobs.catalogue import Catalogue, load, resolve_function
from jobs.errors import DefinitionError, UnknownApp


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Each test in a folder of its own, and no module of it left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write(path: str, text: str) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(dedent(text))
    return path


def faults(*sources: str) -> list[tuple[str, str, str]]:
    with pytest.raises(DefinitionError) as caught:
        load(sources)
    return [(fault.source, fault.app, fault.what) for fault in caught.value.faults]


JSON = """
    {"default_job_id": "{day}_{n}",
     "p": {"bash_cmd": "echo {n}"},
     "c": {"depends_on": {"app_name": ["p"]}, "autofill_values": {"n": "10:20:2"}, "max_fails": 2}}
"""
TOML = """
    default_job_id = "{day}_{n}"
    [p]
    bash_cmd = "echo {n}"
    [c]
    depends_on = { app_name = ["p"] }
    autofill_values = { n = "10:20:2" }
    max_fails = 2
"""
YAML = """
    default_job_id: "{day}_{n}"
    p: {bash_cmd: "echo {n}"}
    c:
      depends_on: {app_name: [p]}
      autofill_values: {n: 10:20:2}
      max_fails: 2
"""
DECORATED = """
    from jobs import app

    @app(job_id="{day}_{n}", identifiers={"day": "date", "n": "int"})
    def first(day, n):
        return (day, n)

    @app(name="second.app", job_id="{day}_{n}", depends_on={"app_name": ["first"]}, isolate=True, timeout=2)
    async def second(job): ...
"""


class TestFiles:
    @pytest.mark.parametrize(
        ("path", "text"), [("a.json", JSON), ("a.toml", TOML), ("a.yaml", YAML), ("a.yml", YAML)]
    )
    def test_the_same_definitions_in_each_format(self, path: str, text: str) -> None:
        catalogue = load([write(path, text)])
        assert [*catalogue] == ["p", "c"]
        child = catalogue.app("c")
        assert (child.template.names, child.policy.max_fails, child.origin) == (("day", "n"), 2, path)
        assert [*child.autofill["n"]] == [10, 12, 14, 16, 18]
        assert (child.job_type, catalogue.app("p").bash_cmd) == ("bash", "echo {n}")

    def test_days_that_toml_and_yaml_know(self) -> None:
        yaml = "a: {job_id: '{day}', autofill_values: {day: [2014-06-01]}, start_after: 2026-01-01}"
        toml = "[b]\njob_id='{day}'\nautofill_values={day=[2014-06-01]}\nstart_after=2026-01-01T00:00:00Z"
        catalogue = load([write("a.yaml", yaml), write("b.toml", toml)])
        assert [[*app.autofill["day"]] for app in catalogue.values()] == [[20140601], [20140601]]
        assert catalogue.app("a").policy.start_after == catalogue.app("b").policy.start_after
        assert catalogue.app("a").read_key("2014-06-02") == {"day": 20140602}

    @pytest.mark.parametrize(
        ("path", "text", "words"),
        [
            ("a.json", '{"a": {\n"job_id": }}', "line 2, column 11: not JSON"),
            ("a.json", '{"a": {}, "a": {}}', "'a' is written twice in one mapping"),
            ("a.json", "[]", "the file holds a list; it has to be a mapping"),
            ("a.toml", "[a]\njob_id = \n", "not TOML: Invalid value (at line 2, column 10)"),
            ("a.toml", "[a]\n[a]", "not TOML: Cannot declare ('a',) twice (at line 2, column 3)"),
            ("a.yaml", "a:\n  b: [1\n", "line 3, column 1: not YAML"),
            ("a.yaml", "a:\n  job_id: x\n  job_id: y", "line 3: 'job_id' is written twice in one mapping"),
            ("a.yaml", "a: !!python/object:os.system {}", "not YAML: could not determine a constructor"),
            ("a.yaml", "", "the file holds nothing"),
        ],
    )
    def test_a_text_that_cannot_be_read_is_shown_with_its_line(
        self, path: str, text: str, words: str
    ) -> None:
        Path(path).write_text(text)
        ((source, app, what),) = faults(path)
        assert (source, app) == (path, "")
        assert words in what

    def test_words_that_yaml_reads_as_numbers(self) -> None:
        text = """
            p: {job_id: "{n}"}
            c: {job_id: "{n}", depends_on: {1: {app_name: [p]}, g: {app_name: [p], n: ["x"]}}}
        """
        assert [group.name for group in load([write("a.yaml", text)]).app("c").groups] == ["1", "g"]

    def test_what_yaml_merges_in_may_be_written_again(self) -> None:
        text = """
            a: &base {job_id: "{n}", max_fails: 1}
            b: {<<: *base, max_fails: 2}
        """
        assert load([write("a.yaml", text)]).app("b").policy.max_fails == 2

    def test_files_that_are_missing_or_unreadable(self) -> None:
        Path("latin.json").write_bytes(b'{"\xe4": {}}')
        Path("folder.json").mkdir()
        found = {
            source: what for source, _, what in faults("none.json", "latin.json", "folder.json", "none.py")
        }
        assert found["none.json"] == "the file cannot be read: No such file or directory"
        assert found["latin.json"] == "the file is not UTF-8 at byte 2"
        assert found["folder.json"] == "the file cannot be read: Is a directory"
        assert "there is no Python file" in found["none.py"]


class TestPython:
    def check(self, catalogue: Catalogue, place: str) -> None:
        first, second = catalogue.values()
        assert (first.name, first.job_type, first.function_path) == ("first", "python", f"{place}:first")
        assert first.function is not None
        assert first.function(1, 2) == (1, 2)
        assert (second.name, second.isolate, second.policy.timeout_s) == ("second.app", True, 2.0)
        assert second.read_key("2014-06-01_07") == {"day": 20140601, "n": 7}, (
            "it takes over the parent's kinds"
        )
        for app in catalogue.values():
            assert resolve_function(app.function_path or "").__name__ == getattr(app.function, "__name__", "")

    def test_a_module_from_the_current_folder(self) -> None:
        write("acme/__init__.py", "")
        write("acme/pipelines.py", DECORATED)
        self.check(load(["acme.pipelines"]), "acme.pipelines")

    def test_a_package_counts_as_a_module(self) -> None:
        write("acme/__init__.py", "from acme.pipelines import first, second")
        write("acme/pipelines.py", DECORATED)
        self.check(load(["acme"]), "acme")

    def test_a_file(self, here: Path) -> None:
        self.check(load([write("some/pipelines.py", DECORATED)]), str(here / "some/pipelines.py"))

    def test_another_process_finds_the_function_of_a_file(self) -> None:
        app = load([write("some/pipelines.py", DECORATED)]).app("first")
        code = "import sys; from jobs.catalogue import resolve_function as r; print(r(sys.argv[1])(1, 2))"
        rooms = str(Path(jobs.__file__).parent.parent)
        done = subprocess.run(
            [sys.executable, "-c", code, str(app.function_path)],
            env={"PYTHONPATH": rooms},
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "(1, 2)\n"

    def test_a_folder_one_job_a_file(self, here: Path) -> None:
        write("jobs_here/one.py", "from jobs import app\n@app(job_id='{n}')\ndef one(n): ...")
        write("jobs_here/two.py", "from jobs import app\nimport both\n@app(job_id='{n}')\ndef two(n): ...")
        write("jobs_here/both.py", "N = 1")
        catalogue = load(["jobs_here"])
        assert {app.name: app.function_path for app in catalogue.values()} == {
            "one": f"{here / 'jobs_here/one.py'}:one",
            "two": f"{here / 'jobs_here/two.py'}:two",
        }
        assert {app.origin for app in catalogue.values()} == {"jobs_here/one.py", "jobs_here/two.py"}

    def test_the_default_template_of_a_source_outranks_that_of_the_caller(self) -> None:
        write("a.py", "from jobs import app\ndefault_job_id = '{own}'\n@app()\ndef a(): ...")
        write("b.py", "from jobs import app\n@app()\ndef b(): ...")
        catalogue = load(["a.py", "b.py"], default_job_id="{given}")
        assert [app.template.names for app in catalogue.values()] == [("own",), ("given",)]

    def test_a_definition_is_still_the_function(self) -> None:
        write("acme.py", DECORATED)
        load(["acme"])
        first = sys.modules["acme"].first
        assert (first(day=1, n=2), first.__name__) == ((1, 2), "first")

    def test_a_file_is_read_anew_by_each_load(self) -> None:
        write("a.py", "from jobs import app\n@app(job_id='{n}')\ndef a(n): ...")
        load(["a.py"])
        write("a.py", "from jobs import app\n@app(job_id='{longer_than_before}')\ndef a(n): ...")
        assert load(["a.py"]).app("a").template.names == ("longer_than_before",)

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
    def test_what_an_import_raises_is_told_with_file_and_line(
        self, text: str, words: str, source: str
    ) -> None:
        write("bad.py", text)
        ((named, app, what),) = faults(source)
        assert (named, app) == (source, "")
        assert words in what
        assert "Traceback" not in what

    def test_one_bad_file_does_not_hide_the_others(self) -> None:
        write("here/a.py", "1 / 0")
        write(
            "here/b.py",
            "from jobs import app\n@app(job_id='{n}', depends_on={'app_name': ['a']})\ndef b(): ...",
        )
        write("here/c.py", "from jobs import app\n@app(job_id='x')\ndef c(): ...")
        found = faults("here")
        assert [(source, app) for source, app, _ in found] == [
            ("here/a.py", ""),
            ("here/b.py", "b"),
            ("here/c.py", "c"),
        ]
        assert found[1][2] == "depends_on: there is no app 'a' in what could be read"

    def test_a_function_that_is_not_there(self) -> None:
        write("acme.py", DECORATED)
        for path, words in {
            "acme:third": "acme has no function 'third'",
            "nowhere_at_all:f": "there is no Python module 'nowhere_at_all'",
            "acme": "'acme' is not the path of a function",
            "acme:default_job_id": "acme has no function",
        }.items():
            with pytest.raises(DefinitionError, match=words):
                resolve_function(path)

    def test_a_declared_function(self) -> None:
        write("acme.py", "def work(n): return n")
        app = load([write("a.json", '{"a": {"job_id": "{n}", "function": "acme:work"}}')]).app("a")
        assert (app.job_type, app.function_path) == ("python", "acme:work")
        assert app.function is not None
        assert app.function(7) == 7


class TestTogether:
    def test_apps_of_several_sources_depend_on_each_other(self) -> None:
        parent = write("p.json", '{"p": {"job_id": "{day}", "identifiers": {"day": "date"}}}')
        child = write("c.toml", "[c]\njob_id = '{day}'\ndepends_on = {app_name = ['p']}")
        catalogue = load([child, parent])
        assert catalogue.app("c").read_key("2014-06-01") == {"day": 20140601}
        assert catalogue.children_of("p") == ("c",)
        assert catalogue.children_of("c") == ()
        assert catalogue.rank("p") < catalogue.rank("c")
        assert catalogue.queues == ("c", "p")

    def test_an_app_that_two_sources_define(self) -> None:
        one = write("one.json", '{"a": {"job_id": "{n}"}}')
        two = write("two.json", '{"a": {"job_id": "{n}"}}')
        assert faults(one, two) == [("two.json", "a", "it is defined in one.json already")]

    def test_one_definition_that_two_sources_show_is_one_app(self) -> None:
        write("acme/__init__.py", "from acme.pipelines import first, second")
        write("acme/pipelines.py", DECORATED)
        assert [*load(["acme", "acme.pipelines"])] == ["first", "second.app"]

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            ("redis://host/db/key", "definitions in Redis are not available"),
            ("apps.txt", "it is none of .json, .py, .toml, .yaml, .yml"),
            ("none.txt", "there is no Python module 'none.txt' here or on the path"),
            ("no/such/place", "there is no such file or folder, and it is not the name of a Python module"),
            ("nowhere_at_all", "there is no Python module 'nowhere_at_all' here or on the path"),
        ],
    )
    def test_sources_that_are_none(self, source: str, words: str) -> None:
        write("apps.txt", JSON)
        ((named, app, what),) = faults(source)
        assert (named, app) == (source, "")
        assert words in what

    def test_no_source_is_an_empty_catalogue(self) -> None:
        assert len(load([])) == 0

    def test_an_unknown_app_is_told_with_the_nearest(self) -> None:
        catalogue = load([write("a.json", JSON.replace('"p"', '"preprocess"'))])
        with pytest.raises(UnknownApp, match=r"There is no app 'preproces' \(did you mean preprocess\?\)"):
            catalogue.app("preproces")
        assert catalogue.get("preproces") is None


class TestDigest:
    def digest(self, text: str, app: str = "a") -> str:
        return load([write("a.py", "from jobs import app\n" + dedent(text))]).app(app).digest

    def test_it_follows_what_the_app_does(self) -> None:
        base = self.digest("@app(job_id='{n}')\ndef a(n): return 1")
        assert base == self.digest("# A comment.\n\n@app(job_id='{n}')\ndef a(n): return 1")
        assert base != self.digest("@app(job_id='{n}')\ndef a(n): return 2")
        assert base != self.digest("@app(job_id='{n}', env={'A': '1'})\ndef a(n): return 1")
        assert base != self.digest("@app(job_id='{m}')\ndef a(n): return 1")

    def test_it_does_not_follow_how_often_or_how_long(self) -> None:
        base = self.digest("@app(job_id='{n}')\ndef a(n): return 1")
        policy = "max_fails=3, timeout='2s', priority=5, retry={'rule': 'random', 'seconds': 1}"
        assert base == self.digest(f"@app(job_id='{{n}}', {policy})\ndef a(n): return 1")

    def test_it_follows_the_order_of_groups_and_not_of_words(self) -> None:
        def digest(depends_on: str, *words: str) -> str:
            text = f'{{"p": {{"job_id": "{{n}}"}}, "c": {{"depends_on": {depends_on}, {", ".join(words)}}}}}'
            return load([write("a.json", text)]).app("c").digest

        one, other = '"g": {"app_name": ["p"]}', '"h": {"app_name": ["p"], "n": ["1"]}'
        words = ('"job_id": "{n}"', '"bash_cmd": "true"')
        base = digest(f"{{{one}, {other}}}", *words)
        assert base == digest(f"{{{one}, {other}}}", *reversed(words))
        assert base != digest(f"{{{other}, {one}}}", *words)
        assert base == digest(f"{{{one}, {other}}}", words[0].replace("job_id", "job_id_template"), words[1])
