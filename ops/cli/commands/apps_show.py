"""``sluice apps show``: what the definitions come to."""

import argparse
from collections.abc import Iterable

from msgspec.json import encode
from msgspec.structs import asdict

from jobs.app import App
from jobs.catalogue.functions import path_of
from jobs.chunking import Chunking, Dependency
from jobs.masking import masked, masked_kwargs
from jobs.partition_key import UNBOUNDED
from jobs.policy import Policy
from jobs.program import Program
from jobs.programs.source import masked_source
from jobs.sagas.saga import Saga
from jobs.values import Values
from ops.cli import partitioned
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.page import Block, Line, Table
from ops.times import span

#: Of an identifier with more values than this, the first and the last are told.
VALUES_MAX = 12


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", nargs="?", help="this one alone, with all there is to say of it")


def run(desk: Desk, options: Options) -> int:
    if options.app is None:
        apps = sorted(desk.catalogue.values(), key=lambda app: (desk.catalogue.rank(app.name), app.name))
        desk.output.answer([_document(desk, app) for app in apps], _list(apps))
    else:
        app = desk.catalogue.app(options.app)
        desk.output.answer(_document(desk, app), *_portrait(desk, app))
    return DONE


def _document(desk: Desk, app: App) -> dict[str, object]:
    return {
        "app": app.name,
        "job_type": app.job_type,
        "job_id": app.template.text if app.is_keyed_by_template else None,
        "identifiers": {name: str(app.kind(name)) for name in app.template.names}
        if app.is_keyed_by_template
        else {},
        "autofill_values": {name: _values(values) for name, values in app.autofill.items()},
        "chunks": app.chunking and _of_chunks(app.chunking),
        "partitions": app.partitioning and partitioned.document_of(app.partitioning),
        "parents": [{"group": name, "apps": apps} for name, apps in _parents(app).items()],
        "children": _children(desk, app),
        "policy": _policy(app.policy),
        "runs": _runs(app),
        "program": app.program and _of_program(app.program),
        "saga": app.saga and _of_saga(app.saga),
        "origin": app.origin,
        "digest": app.digest,
        "version": app.version or None,
    }


def _list(apps: Iterable[App]) -> Block:
    rows = [(app.name, app.job_type, _key(app), _needs(app)) for app in apps]
    return Table(("app", "type", "key", "parents"), rows, prose=True, empty="No apps.")


def _portrait(desk: Desk, app: App) -> Iterable[Block]:
    yield Line(app.name, "bold")
    facts = {
        "type": app.job_type,
        "runs": _runs(app),
        **(_of_program(app.program) if app.program else {}),
        **(_facts_of_saga(app.saga) if app.saga else {}),
        "key": f"{app.template.text}, like {app.example_key}" if app.is_keyed_by_template else _key(app),
        "parents": _needs(app),
        "children": ", ".join(_children(desk, app)),
        **_facts(app),
        "defined in": app.origin,
    }
    yield from (Line(f"{word}: {fact}", indent=2) for word, fact in facts.items() if fact)
    yield Line()
    yield _needed(app)
    default = _policy(Policy())
    changed = {word: value for word, value in _policy(app.policy).items() if value != default[word]}
    yield Line()
    yield Table(("policy", ""), list(changed.items()), prose=True, empty="Its policy is the default.")


def _facts(app: App) -> dict[str, str]:
    """What there is to say of its way of keying jobs alone."""
    if app.partitioning:
        return partitioned.facts_of(app.partitioning, app.version)
    return _facts_of_chunks(app.chunking) if app.chunking else {}


def _needed(app: App) -> Block:
    """What its keys are made of, or what its jobs need."""
    if app.partitioning:
        return partitioned.tables_of(app.partitioning)
    return _dependencies(app.chunking) if app.chunking else _identifiers(app)


def _identifiers(app: App) -> Block:
    rows = [
        (name, app.kind(name), ", ".join(map(str, _values(app.autofill.get(name, Values())))))
        for name in app.template.names
    ]
    return Table(("identifier", "is", "values"), rows, prose=True)


def _facts_of_chunks(chunking: Chunking) -> dict[str, str]:
    return {
        "work IDs from": chunking.select_path or chunking.default_ids_path or "whoever submits it",
        "fresh by": ", ".join(["work ID", *chunking.freshness_by]) if chunking.freshness_by else "",
        "scheduled": "also while jobs of it are under way" if chunking.allow_multiple_jobs else "",
        "reads": ", ".join(chunking.data_sources),
        "writes": ", ".join(chunking.data_sinks),
    }


def _dependencies(chunking: Chunking) -> Block:
    rows = [(each.app, _lag(each), _besides(each)) for each in chunking.dependencies]
    return Table(("dependency", "is fresh for", "besides"), rows, prose=True, empty="It needs no other app.")


def _lag(dependency: Dependency) -> str:
    return span(dependency.lag_s_max) if dependency.lag_s_max else "no time"


def _besides(dependency: Dependency) -> str:
    said = {"whichever its work IDs": dependency.any_ids, "for this app alone": dependency.unique}
    kwargs = [f"{name}={encode(value).decode()}" for name, value in masked_kwargs(dependency.kwargs).items()]
    return ", ".join([*kwargs, *(words for words, holds in said.items() if holds)])


def _of_chunks(chunking: Chunking) -> dict[str, object]:
    """In the words of the definition, which has functions by their paths."""
    return {
        "chunk_size": chunking.size,
        "dependencies": [
            {
                "job_type": each.app,
                "max_lag_s": each.lag_s_max,
                "custom_kwargs": masked_kwargs(each.kwargs),
                "allow_missing_work_ids": each.any_ids,
                "unique": each.unique,
            }
            for each in chunking.dependencies
        ],
        "select_work": chunking.select_path,
        "default_work_ids": chunking.default_ids_path,
        "freshness_by": chunking.freshness_by,
        "allow_multiple_jobs": chunking.allow_multiple_jobs,
        "data_sources": chunking.data_sources,
        "data_sinks": chunking.data_sinks,
    }


def _policy(policy: Policy) -> dict[str, object]:
    """Of the environment the names alone: a value may be a secret."""
    limits = {word: value for word, value in asdict(policy.limits).items() if value is not None}
    debug = {word: value for word, value in asdict(policy.debug).items() if value}
    return {**asdict(policy), "env": dict.fromkeys(policy.env, "…"), "limits": limits, "debug": debug}


def _runs(app: App) -> str | None:
    return masked(app.bash_cmd) if app.bash_cmd else app.function_path


def _of_program(program: Program) -> dict[str, str]:
    """What the app states, in its own words, without passwords."""
    return {word: masked_source(text) if word == "source" else masked(text) for word, text in program.stated}


def _of_saga(saga: Saga) -> dict[str, object]:
    """In the words of the definition, by the paths that lead to the objects."""
    return {
        "context": saga.context and path_of(saga.context),
        "hooks": [path_of(hook) for hook in saga.hooks],
    }


def _facts_of_saga(saga: Saga) -> dict[str, str]:
    return {
        "context": path_of(saga.context) if saga.context else "",
        "hooks": ", ".join(path_of(hook) for hook in saga.hooks),
    }


def _key(app: App) -> str:
    """A chunk's is made for it, so nobody has to write it; that of a step says which partitions it makes."""
    if app.unbounded and app.partitioning:
        return UNBOUNDED
    if app.partitioning:
        return partitioned.size_of(app.partitioning)
    if not app.chunking:
        return app.template.text
    return "one work ID" if app.chunking.size == 1 else f"up to {app.chunking.size:,} work IDs"


def _parents(app: App) -> dict[str, list[str]]:
    """Group → apps. Groups are alternatives, and each needs all of its apps; dependencies and tables are one."""
    if not app.is_keyed_by_template:
        parents = list(dict.fromkeys(app.parent_apps))
        return {"default": parents} if parents else {}
    return {
        group.name: list(dict.fromkeys(name for parents in group.all_of for name in parents.apps))
        for group in app.groups
    }


def _needs(app: App) -> str:
    return " or ".join(", ".join(apps) for apps in _parents(app).values())


def _children(desk: Desk, app: App) -> list[str]:
    return [*desk.catalogue.children_of(app.name), *desk.catalogue.dependents_of(app.name)]


def _values(values: Values) -> list[object]:
    """All of them, or the ends of many: a range may hold a million."""
    if len(values) <= VALUES_MAX:
        return list(values)
    *_, last = values
    return [next(iter(values)), "…", last]
