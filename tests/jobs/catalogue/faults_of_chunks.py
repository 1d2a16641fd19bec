"""Faults in the options of an app that is keyed by chunk."""

from typing import Any

from tests.jobs.catalogue import faults_of_work
from tests.jobs.catalogue.faulty_apps import Fault

HELLO = {"chunk_size": 1}
SHOPS = {"_func": "tests.planner.two_ways:Shops"}
DEPENDENCY = {"job_type": "hello", "max_lag": 60}


def chunks(**words: Any) -> dict[str, Any]:
    return {"a": {"chunk_size": 2, **words}}


def needing(*dependencies: Any, **words: Any) -> dict[str, Any]:
    """Define ``a`` with these dependencies, ``hello`` as their parent, and ``fetch``, which is keyed by template."""
    return {
        "hello": HELLO,
        "fetch": {"job_id": "{date}"},
        "a": {"chunk_size": 2, "dependencies": list(dependencies), **words},
    }


def dependency(**words: Any) -> dict[str, Any]:
    return needing({**DEPENDENCY, **words})


def reading(depends_on: dict[str, Any], **words: Any) -> dict[str, Any]:
    """Define ``a``, which is keyed by template, with this ``depends_on``."""
    identifiers = {"date": "date"}
    return {
        "hello": HELLO,
        "fetch": {"job_id": "{date}"},
        "a": {"job_id": "{date}", "identifiers": identifiers, "depends_on": depends_on, **words},
    }


def without(word: str) -> dict[str, Any]:
    return needing({other: value for other, value in DEPENDENCY.items() if other != word})


def chain(**parents: str) -> dict[str, Any]:
    return {
        name: {**HELLO, "dependencies": [{"job_type": parent, "max_lag": 0}]}
        for name, parent in parents.items()
    }


FAULTS_OF_CHUNKS: dict[str, Fault] = {
    # Options of another keyspace.
    "an identifier in a chunk": (
        chunks(identifiers={"date": "date"}),
        "identifiers: an app with chunk_size has no keys of its own",
    ),
    "everything of a template": (
        chunks(job_id="{x}", identifiers=7, autofill_values=7, valid_if_or=7),
        "job_id, identifiers, autofill_values, valid_if_or: an app with chunk_size has no keys",
    ),
    "no dependencies": (
        chunks(depends_on={}),
        "depends_on: a work ID leads to jobs with keys only by a two-way function",
    ),
    "parents of a template": (
        chunks(depends_on={"app_name": ["fetch"]}),
        "a work ID leads to jobs with keys only by a two-way function: give the mapping a _func; list apps with",
    ),
    "parents of a template beside a function": (
        chunks(depends_on={"both": [{"app_name": ["fetch"]}, {**SHOPS, "app_name": ["fetch"]}]}),
        "a work ID leads to jobs with keys only by a two-way function",
    ),
    "alternatives of a chunk": (
        chunks(depends_on={"one": SHOPS, "other": {**SHOPS, "when": "finished"}}),
        "depends_on: an app with chunk_size has no alternatives; write all of its mappings in one group",
    ),
    "a function that leads from chunks to chunks": (
        {"hello": HELLO, "a": {**HELLO, "depends_on": {**SHOPS, "app_name": ["hello"]}}},
        "depends_on: hello is keyed by chunk, so no key leads to its jobs; list it in dependencies",
    ),
    "a function that leads to an unknown app": (
        chunks(depends_on={**SHOPS, "app_name": ["fetsch"]}),
        "depends_on: there is no app 'fetsch'",
    ),
    "the other name of a template": (
        chunks(job_id_template="x"),
        "job_id_template: an app with chunk_size has no keys",
    ),
    "words of chunks for a template": (
        {"a": {"job_id": "{x}", "select_work": 7, "dependencies": 7}},
        "dependencies, select_work: there is no chunk_size",
    ),
    "a word of chunks alone": (
        {"default_job_id": "{x}", "a": {"allow_multiple_jobs": True}},
        "allow_multiple_jobs: there is no chunk_size, which an app that is keyed by chunk needs",
    ),
    "an unknown option of chunks": (
        chunks(chunksize=3),
        "unknown option 'chunksize' (did you mean chunk_size?)",
    ),
    "a word of Stau's files elsewhere": (chunks(main_func="main"), "unknown option 'main_func'"),
    "halves of an app without work IDs": (
        {"a": {"job_id": "{x}", "on_failure": "bisect"}},
        "on_failure: bisect splits work IDs, and an app without chunk_size has none",
    ),
    "an unknown on_failure": (
        chunks(on_failure="bisekt"),
        "'bisekt' is none of fail, bisect (did you mean bisect?)",
    ),
    # Sizes.
    "no size": (chunks(chunk_size=None), "chunk_size: None is not a whole number from 1 on"),
    "a size of zero": (chunks(chunk_size=0), "chunk_size: 0 is not a whole number from 1 on"),
    "a size below zero": (chunks(chunk_size=-1), "chunk_size: -1 is not"),
    "a broken size": (chunks(chunk_size=2.5), "chunk_size: 2.5 is not"),
    "a size that is no number": (chunks(chunk_size="2"), "chunk_size: '2' is not"),
    "a true size": (chunks(chunk_size=True), "chunk_size: True is not"),
    # Simple options.
    "sources that are one text": (chunks(data_sources="db"), "data_sources: 'db' is not a list of texts"),
    "sinks of numbers": (chunks(data_sinks=[1]), "data_sinks: [1] is not a list of texts"),
    "maybe multiple": (
        chunks(allow_multiple_jobs="no"),
        "allow_multiple_jobs: 'no' is neither true nor false",
    ),
    "fresh by a text": (chunks(freshness_by="region"), "freshness_by: 'region' is not a list of texts"),
    "fresh by one kwarg twice": (chunks(freshness_by=["k", "k"]), "freshness_by: k is listed twice"),
    "fresh by work IDs": (
        chunks(freshness_by=["work_ids"]),
        "freshness_by: work_ids: freshness is recorded",
    ),
    # Functions.
    "a function that its module lacks": (
        chunks(select_work="os.path:nothing"),
        "select_work: os.path has no function 'nothing'",
    ),
    "a function of no module": (chunks(select_work="select"), "select_work: 'select' is not the path of"),
    "a module that is not there": (
        chunks(select_work="acme.ids:select"),
        "select_work: there is no Python module 'acme.ids'",
    ),
    "a list in place of a function": (chunks(select_work=[1]), "select_work: [1] is no function; write"),
    "defaults that are no function": (chunks(default_work_ids=7), "default_work_ids: 7 is no function"),
    "defaults of a source that are none": (
        {"default_work_ids": "os.path:nothing", "hello": HELLO, "a": HELLO},
        "default_work_ids: os.path has no function 'nothing'",
    ),
    "defaults of a source that are a list": (
        {"default_work_ids": [1, 2], "a": HELLO},
        "default_work_ids: [1, 2] is no function",
    ),
    # Dependencies.
    "dependencies that are no list": (
        chunks(dependencies={"job_type": "a"}),
        "dependencies: {'job_type': 'a'} is not a list of mappings",
    ),
    "dependencies that are null": (chunks(dependencies=None), "dependencies: None is not a list of mappings"),
    "an app for a mapping": (
        needing("hello"),
        "dependencies: it has to be a mapping with job_type and max_lag",
    ),
    "no app": (without("job_type"), "dependencies: number 1: it has no job_type"),
    "no lag": (without("max_lag"), "dependencies: hello: it has no max_lag, the maximum age"),
    "an app of no name": (
        dependency(job_type=7),
        "dependencies: number 1: job_type: 7 is not the name of an app",
    ),
    "an unknown option of a dependency": (
        dependency(custom_kwarg={}),
        "dependencies: hello: unknown option 'custom_kwarg' (did you mean custom_kwargs?)",
    ),
    "a lag below zero": (dependency(max_lag=-1), "max_lag: -1 is not a number of minutes from 0 on"),
    "a lag without end": (dependency(max_lag=float("inf")), "max_lag: inf is not a number of minutes"),
    "a lag that is no number": (dependency(max_lag=float("nan")), "max_lag: nan is not a number of minutes"),
    "a true lag": (dependency(max_lag=True), "max_lag: True is not a number of minutes"),
    "a lag that is null": (dependency(max_lag=None), "max_lag: None is not a number of minutes"),
    "a lag in words": (dependency(max_lag="an hour"), "max_lag: 'an hour' is not a duration"),
    "a lag without its unit": (dependency(max_lag="90"), "max_lag: '90' has no unit"),
    "a lag below zero in words": (dependency(max_lag="-5m"), "max_lag: '-5m' is not a duration"),
    "a lag of ages": (dependency(max_lag=10**40), "is more than a thousand years"),
    "a lag of ages in words": (dependency(max_lag="400000d"), "'400000d' is more than a thousand years"),
    "kwargs that are no mapping": (
        dependency(custom_kwargs=[1]),
        "custom_kwargs: [1] is not a mapping of names to values",
    ),
    "work IDs for a dependency": (
        dependency(custom_kwargs={"work_ids": [[7]]}),
        "custom_kwargs: work_ids is set for each chunk; it cannot be fixed",
    ),
    "a kwarg that no ledger keeps": (
        dependency(custom_kwargs={"k": ["\0"]}),
        "custom_kwargs: '\\x00' has characters that the ledger cannot store",
    ),
    "a kwarg that is no number": (
        dependency(custom_kwargs={"k": float("nan")}),
        "custom_kwargs: nan is no JSON value",
    ),
    "maybe missing": (dependency(allow_missing_work_ids=1), "allow_missing_work_ids: 1 is neither true nor"),
    "maybe unique": (dependency(unique="yes"), "unique: 'yes' is neither true nor false"),
    "one dependency with two lags": (
        needing({**DEPENDENCY, "max_lag": 9}, {**DEPENDENCY, "max_lag": 99}),
        "dependencies: hello is listed twice",
    ),
    "one dependency twice, spelled out": (
        needing(DEPENDENCY, {**DEPENDENCY, "unique": False, "custom_kwargs": {}}),
        "dependencies: hello is listed twice",
    ),
    # Between apps.
    "an unknown app to depend on": (
        dependency(job_type="hallo"),
        "dependencies: there is no app 'hallo' (did you mean hello?)",
    ),
    "a dependency without chunks": (
        dependency(job_type="fetch"),
        "it is not keyed by chunk; give it a chunk_size, or name it in depends_on with a two-way function",
    ),
    "a parent by chunk": (
        {"hello": HELLO, "a": {"job_id": "{date}", "depends_on": {"app_name": ["hello"]}}},
        "depends_on: hello is keyed by chunk, so no key leads to its jobs; give the mapping a _func",
    ),
    "alternatives of a job that needs work IDs": (
        reading({"one": {**SHOPS, "app_name": ["hello"]}, "other": {"app_name": ["fetch"]}}),
        "depends_on: it needs chunks of hello, so it has no alternatives; write all of its mappings in one group",
    ),
    "work IDs that fail": (
        reading({**SHOPS, "app_name": ["hello"], "when": "failed"}),
        "depends_on: it needs chunks of hello; such a mapping cannot have when: failed",
    ),
    "work IDs together with tables": (
        reading({**SHOPS, "app_name": ["hello"]}, table_dependencies=[{"table": "sales"}]),
        "depends_on: it needs chunks of hello, so it cannot have table_dependencies too",
    ),
    "work IDs that never finish": (
        {
            **reading({**SHOPS, "app_name": ["hello"]}),
            "hello": {**HELLO, "job_type": f"{faults_of_work.__name__}:Grid", "is_long_running": True},
        },
        "depends_on: hello is_long_running, so its work IDs never finish",
    ),
    "an app that depends on itself": (chain(a="a"), "the apps depend on each other in a circle: a -> a"),
    "two that depend on each other": (chain(a="b", b="a"), "in a circle: a -> b -> a"),
    "a long circle of chunks": (
        {**chain(e="d", d="c", c="b", b="e", a="b")},
        "in a circle: b -> c -> d -> e -> b",
    ),
    # The work of a job.
    "a placeholder of no chunk": (
        chunks(bash_cmd="echo {date}"),
        "bash_cmd: there is no {date}; there are app_name, job_id, work_ids",
    ),
    "a placeholder of the key": (chunks(bash_cmd="echo {chunk}"), "bash_cmd: there is no {chunk}"),
}
