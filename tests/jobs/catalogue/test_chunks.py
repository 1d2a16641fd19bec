"""Apps that are keyed by chunk, defined in each kind of source."""

from typing import Any

import pytest

from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.keys.chunks import Chunking, Dependency
from tests.jobs.catalogue.sources import faults, write
from tests.planner.definitions import catalogue_of

pytestmark = pytest.mark.usefixtures("here")

JSON = """
    {"default_job_id": "{date}",
     "default_work_ids": "acme:every_id",
     "hello": {"chunk_size": 1},
     "goodbye": {"chunk_size": 2, "select_work": "acme:select", "freshness_by": ["region"],
                 "dependencies": [{"job_type": "hello", "max_lag": 90, "custom_kwargs": {"k": [1]},
                                   "allow_missing_work_ids": true, "unique": true}]}}
"""
TOML = """
    default_job_id = "{date}"
    default_work_ids = "acme:every_id"
    [hello]
    chunk_size = 1
    [goodbye]
    chunk_size = 2
    select_work = "acme:select"
    freshness_by = ["region"]
    [[goodbye.dependencies]]
    job_type = "hello"
    max_lag = "1h30m"
    custom_kwargs = { k = [1] }
    allow_missing_work_ids = true
    unique = true
"""
YAML = """
    default_job_id: "{date}"
    default_work_ids: acme:every_id
    hello: {chunk_size: 1}
    goodbye:
      chunk_size: 2
      select_work: acme:select
      freshness_by: [region]
      dependencies:
        - {job_type: hello, max_lag: 90.0, custom_kwargs: {k: [1]}, allow_missing_work_ids: true, unique: true}
"""
DECORATED = """
    from acme import every_id, select
    from sluice import app

    default_job_id = "{date}"
    default_work_ids = every_id

    @app(chunk_size=1)
    def hello(**kwargs): ...

    @app(chunk_size=2, select_work=select, freshness_by=("region",),
         dependencies=({"job_type": "hello", "max_lag": 90, "custom_kwargs": {"k": (1,)},
                        "allow_missing_work_ids": True, "unique": True},))
    def goodbye(work_ids): ...
"""
FUNCTIONS = """
    def select(**kwargs): return [0, 1]
    def every_id(**kwargs): return [7]
"""


def _by_path(chunking: Chunking | None) -> Chunking:
    assert chunking is not None
    return Chunking(**{**{f: getattr(chunking, f) for f in chunking.__struct_fields__}, **_NO_FUNCTIONS})


_NO_FUNCTIONS = {"select": None, "default_ids": None}


@pytest.mark.parametrize(
    ("source", "text"), [("a.json", JSON), ("a.toml", TOML), ("a.yaml", YAML), ("a.py", DECORATED)]
)
def test_every_kind_of_source_defines_the_same_chunks(source: str, text: str) -> None:
    write("acme.py", FUNCTIONS)
    catalogue = load([write(source, text)])
    hello, goodbye = catalogue.app("hello").chunking, catalogue.app("goodbye").chunking
    assert _by_path(hello) == Chunking(size=1, default_ids_path="acme:every_id")
    assert _by_path(goodbye) == Chunking(
        size=2,
        dependencies=(Dependency(app="hello", lag_s_max=5400, kwargs={"k": [1]}, any_ids=True, unique=True),),
        freshness_by=("region",),
        select_path="acme:select",
        default_ids_path="acme:every_id",
    )
    assert hello
    assert hello.default_ids
    assert hello.default_ids() == [7]
    assert goodbye
    assert goodbye.select
    assert goodbye.select() == [0, 1]


def test_options_of_chunks_have_defaults() -> None:
    chunking = catalogue_of({"a": {"chunk_size": 10}}).app("a").chunking
    assert chunking == Chunking(size=10)
    assert not chunking.allow_multiple_jobs


def test_other_options_apply_to_apps_keyed_by_chunk_too() -> None:
    words = {
        "chunk_size": 3,
        "bash_cmd": "echo {work_ids}",
        "max_fails": 2,
        "on_failure": "bisect",
        "env": {},
    }
    app = catalogue_of({"a": words}).app("a")
    assert (app.job_type, app.policy.max_fails, app.policy.on_failure) == ("bash", 2, "bisect")


@pytest.mark.parametrize("key", ["1-3,7", "0..9000:400@12", "north@7.2", "a b"])
def test_an_app_keyed_by_chunk_accepts_any_key_and_ignores_default_job_id(key: str) -> None:
    app = catalogue_of({"default_job_id": "{date}_{x}", "a": {"chunk_size": 1}}).app("a")
    assert app.write_key(app.read_key(key)) == key
    assert (app.identifiers, app.autofill, app.groups) == ({}, {}, ())


@pytest.mark.parametrize(
    ("max_lag", "seconds"),
    [(0, 0), (60, 3600), (0.5, 30), ("6h", 21_600), ("0s", 0), ("90s", 90), ("250ms", 0.25), ("1d", 86_400)],
)
def test_a_numeric_max_lag_is_in_minutes_and_a_text_is_a_duration(max_lag: object, seconds: float) -> None:
    (dependency,) = _dependencies([{"job_type": "hello", "max_lag": max_lag}])
    assert dependency.lag_s_max == seconds


def test_an_app_may_depend_on_another_in_several_ways() -> None:
    ways: list[dict[str, Any]] = [
        {},
        {"unique": True},
        {"custom_kwargs": {"k": 1}},
        {"custom_kwargs": {"k": 2}},
    ]
    found = _dependencies([{"job_type": "hello", "max_lag": 0, **way} for way in ways])
    assert [(each.unique, each.kwargs) for each in found] == [
        (False, {}),
        (True, {}),
        (False, {"k": 1}),
        (False, {"k": 2}),
    ]


def test_default_work_ids_of_an_app_override_its_source() -> None:
    write("acme.py", FUNCTIONS)
    text = '{"default_work_ids": "acme:every_id", "a": {"chunk_size": 1, "default_work_ids": "acme:select"}}'
    chunking = load([write("a.json", text)]).app("a").chunking
    assert chunking
    assert chunking.default_ids_path == "acme:select"


def test_default_work_ids_of_a_source_do_not_affect_templates() -> None:
    write("acme.py", FUNCTIONS)
    assert load([write("a.json", '{"default_work_ids": "acme:select", "a": {"job_id": "{x}"}}')])


def test_select_work_may_be_any_callable() -> None:
    text = """
        from functools import partial
        from sluice import app

        class Chosen:
            def __call__(self, **kwargs): return [2]

        @app(chunk_size=1, select_work=lambda **kwargs: [0])
        def a(**kwargs): ...
        @app(chunk_size=1, select_work=partial(sorted, [1]))
        def b(**kwargs): ...
        @app(chunk_size=1, select_work=Chosen())
        def c(**kwargs): ...
    """
    catalogue = load([write("some.py", text)])
    selects = [app.chunking.select for app in catalogue.values() if app.chunking]
    assert [select and select() for select in selects] == [[0], [1], [2]]


def test_dependencies_are_known_from_both_ends() -> None:
    catalogue = _chain(a=[], b=["a"], c=["a", "b"])
    assert list(catalogue.app("c").parent_apps) == ["a", "b"]
    assert catalogue.dependents_of("a") == ("b", "c")
    assert catalogue.dependents_of("c") == ()
    assert catalogue.rank("a") < catalogue.rank("b") < catalogue.rank("c")


def test_an_app_keyed_by_chunk_is_no_possible_parent_of_a_function() -> None:
    two_way = {"job_id": "{day}", "depends_on": {"_func": "tests.planner.two_ways:Weeks"}}
    catalogue = catalogue_of({"a": two_way, "hello": {"chunk_size": 1}})
    (alternative,) = catalogue.alternatives("a")
    assert [*alternative.bridges[0].parents] == ["a"]


def test_all_faults_of_chunks_are_reported_at_once() -> None:
    write("bad.py", "1 / 0")
    text = """
        {"default_work_ids": "bad:f",
         "a": {"chunk_size": 0, "depends_on": {}, "select_work": "bad:f",
               "dependencies": [{"job_type": "b"}, {"job_type": "absent", "max_lag": "x", "uniqe": true}]},
         "b": {"chunk_size": 1, "dependencies": [{"job_type": "a", "max_lag": 0}]}}
    """
    found = faults(write("a.json", text))
    assert {source for source, _, _ in found} == {"a.json"}
    assert [(app, what.partition(": ")[0]) for _, app, what in found] == [
        ("", "default_work_ids"),
        ("a", "chunk_size"),
        ("a", "dependencies"),
        ("a", "dependencies"),
        ("a", "dependencies"),
        ("a", "dependencies"),
        ("a", "depends_on"),
        ("a", "select_work"),
        ("a", "the apps depend on each other in a circle"),
    ]


def _dependencies(dependencies: list[dict[str, Any]]) -> tuple[Dependency, ...]:
    apps = {"hello": {"chunk_size": 1}, "a": {"chunk_size": 1, "dependencies": dependencies}}
    chunking = catalogue_of(apps).app("a").chunking
    assert chunking
    return chunking.dependencies


def _chain(**parents: list[str]) -> Catalogue:
    return catalogue_of(
        {
            name: {"chunk_size": 1, "dependencies": [{"job_type": parent, "max_lag": 0} for parent in named]}
            for name, named in parents.items()
        }
    )
