"""JSON document of an app, with its partitioning.

It is the JSON of ``sluice apps show``, which the documentation describes. ``partitioning_document`` is ``partitions``
in it.
"""

from msgspec.structs import asdict

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.sources.functions import path_of
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.identifiers import Values
from sluice.jobs.keys.partitions import Offset, Partitioning, TableDependency
from sluice.jobs.model.app import App
from sluice.jobs.model.program import Program
from sluice.jobs.policy.policy import Policy
from sluice.jobs.programs.source import masked_source
from sluice.jobs.sagas.spec import Saga
from sluice.jobs.text.redaction import masked, masked_kwargs

#: Maximum number of values of an identifier in the document. Of more values, only the first and the last are included.
VALUES_MAX = 12


def as_document(catalogue: Catalogue, app: App) -> dict[str, object]:
    return {
        "app": app.name,
        "job_type": app.job_type,
        "job_id": app.template.text if app.is_keyed_by_template else None,
        "identifiers": {name: str(app.kind(name)) for name in app.template.names}
        if app.is_keyed_by_template
        else {},
        "autofill_values": {name: values_of(values) for name, values in app.autofill.items()},
        "chunks": app.chunking and _of_chunks(app.chunking),
        "partitions": app.partitioning and partitioning_document(app.partitioning),
        "parents": [{"group": name, "apps": apps} for name, apps in parents_of(app).items()],
        "children": children_of(catalogue, app),
        "policy": policy_document(app.policy),
        "breaker": app.breaker and asdict(app.breaker),
        "retry_budget": app.retry_budget and asdict(app.retry_budget),
        "runs": runs_of(app),
        "program": app.program and program_document(app.program),
        "saga": app.saga and _of_saga(app.saga),
        "origin": app.origin,
        "digest": app.digest,
        "version": app.version or None,
    }


def parents_of(app: App) -> dict[str, list[str]]:
    """Return the parent apps by dependency group. Groups are alternatives, and each group needs all of its apps. An app
    that is not keyed by template has a single group ``default`` for its dependencies and tables.
    """
    if not app.is_keyed_by_template:
        parents = list(dict.fromkeys(app.parent_apps))
        return {"default": parents} if parents else {}
    return {
        group.name: list(dict.fromkeys(name for parents in group.all_of for name in parents.apps))
        for group in app.groups
    }


def children_of(catalogue: Catalogue, app: App) -> list[str]:
    return [*catalogue.children_of(app.name), *catalogue.dependents_of(app.name)]


def values_of(values: Values) -> list[object]:
    """Return all values, or the first and the last if there are more than ``VALUES_MAX``. A range may hold a
    million.
    """
    if len(values) <= VALUES_MAX:
        return list(values)
    *_, last = values
    return [next(iter(values)), "…", last]


def policy_document(policy: Policy) -> dict[str, object]:
    """Return the policy as a document. Environment variables have no values here, because a value may be a secret."""
    limits = {word: value for word, value in asdict(policy.limits).items() if value is not None}
    debug = {word: value for word, value in asdict(policy.debug).items() if value}
    return {**asdict(policy), "env": dict.fromkeys(policy.env, "…"), "limits": limits, "debug": debug}


def runs_of(app: App) -> str | None:
    return masked(app.bash_cmd) if app.bash_cmd else app.function_path


def program_document(program: Program) -> dict[str, str]:
    """Return the options that the app sets for its program, under their names in the definition and without
    passwords.
    """
    return {word: masked_source(text) if word == "source" else masked(text) for word, text in program.stated}


def _of_chunks(chunking: Chunking) -> dict[str, object]:
    """Return the chunking under its option names in the definition. Functions are import paths."""
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


def _of_saga(saga: Saga) -> dict[str, object]:
    """Return the saga under its option names in the definition. Objects are import paths."""
    return {
        "context": saga.context and path_of(saga.context),
        "hooks": [path_of(hook) for hook in saga.hooks],
    }


def partitioning_document(partitioning: Partitioning) -> dict[str, object]:
    """Return the partitioning under its option names in the definition, written in full. The cut-offs are the first and
    the last partition that is read.
    """
    first = partitioning.first
    return {
        "output_table": partitioning.table,
        "partition": _calendar(partitioning.calendar)
        | {"first": None if first is None else partitioning.calendar.write(first)},
        "step_size": partitioning.step_size,
        "table_dependencies": [
            {
                "table": each.table,
                "app": each.producer,
                "partition": _calendar(each.calendar),
                "start_offset": None if each.start_offset is None else _written(each.start_offset),
                "end_offset": _written(each.end_offset),
                "start_cutoff": first_read(each),
                "end_cutoff": last_read(each),
                "cumulative": each.cumulative,
            }
            for each in partitioning.dependencies
        ],
        "modes": partitioning.modes,
    }


def _calendar(calendar: Calendar) -> dict[str, object]:
    return {"unit": calendar.unit, "format": calendar.pattern}


def _written(offset: Offset) -> int | str:
    return f"{offset.seconds}s" if offset.seconds else offset.partitions


def first_read(dependency: TableDependency) -> str | None:
    calendar, cutoff_s = dependency.calendar, dependency.start_cutoff_s
    return None if cutoff_s is None else calendar.write(calendar.at(cutoff_s))


def last_read(dependency: TableDependency) -> str | None:
    """Return the last partition that is read. It ends where the cut-off begins."""
    calendar, cutoff_s = dependency.calendar, dependency.end_cutoff_s
    return None if cutoff_s is None else calendar.write(calendar.at(cutoff_s - 1))
