"""JSON document of an app (docs: the JSON of ``sluice apps show``)."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.sources.functions import path_of
from sluice.jobs.keys.calendar import Calendar, Unit
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.identifiers import Values
from sluice.jobs.keys.partitions import Dimension, Offset, Partitioning, TableDependency
from sluice.jobs.model.app import App
from sluice.jobs.model.program import Program
from sluice.jobs.model.submission import JSON
from sluice.jobs.policy.breaker import Breaker
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.rate_limit import RateLimit
from sluice.jobs.policy.retry_budget import RetryBudget
from sluice.jobs.programs.source import masked_source
from sluice.jobs.sagas.spec import Saga
from sluice.jobs.text.redaction import masked, masked_kwargs
from sluice.ops.documents import Document

#: Maximum number of values of an identifier in the document. Of more values, only the first and the last are included.
VALUES_MAX = 12


class ParentAlternative(Document, frozen=True, kw_only=True):
    group: str
    apps: Sequence[str]


class ChunkDependency(Document, frozen=True, kw_only=True):
    job_type: str
    max_lag_s: float
    custom_kwargs: Mapping[str, JSON]
    allow_missing_work_ids: bool
    unique: bool


class ChunksDocument(Document, frozen=True, kw_only=True):
    """Chunking under its option names in the definition. Functions are import paths."""

    chunk_size: int
    dependencies: Sequence[ChunkDependency]
    select_work: str | None
    default_work_ids: str | None
    freshness_by: Sequence[str]
    allow_multiple_jobs: bool
    data_sources: Sequence[str]
    data_sinks: Sequence[str]


class TablePartition(Document, frozen=True, kw_only=True):
    """Unit and text format of a table's partitions, and the first possible one. ``example`` is a partition in this
    format."""

    unit: Unit
    format: str
    example: str
    first: str | None
    by: Mapping[str, Sequence[str]]


class TableNeed(Document, frozen=True, kw_only=True):
    """Table that an app reads. The cut-offs are the first and the last partition that is read. If the table has a
    second dimension, ``all_slices`` means that each job reads every slice.
    """

    table: str
    app: str | None
    partition: TablePartition
    start_offset: int | str | None
    end_offset: int | str
    start_cutoff: str | None
    end_cutoff: str | None
    cumulative: bool
    all_slices: bool


class PartitionsDocument(Document, frozen=True, kw_only=True):
    """Partitioning under its option names in the definition, written in full."""

    output_table: str
    partition: TablePartition
    step_size: int
    table_dependencies: Sequence[TableNeed]
    modes: Mapping[str, Mapping[str, JSON]]


class SagaOptions(Document, frozen=True, kw_only=True):
    """Saga under its option names in the definition. Objects are import paths."""

    context: str | None
    hooks: Sequence[str]


class AppDocument(Document, frozen=True, kw_only=True):
    """App as it is defined. ``policy`` and ``program`` have the options of the definitions."""

    app: str
    job_type: str
    job_id: str | None
    identifiers: Mapping[str, str]
    autofill_values: Mapping[str, Sequence[Any]]
    chunks: ChunksDocument | None
    partitions: PartitionsDocument | None
    table_of_days: str | None
    table_dependencies: Sequence[TableNeed]
    parents: Sequence[ParentAlternative]
    children: Sequence[str]
    policy: Mapping[str, JSON]
    breaker: Breaker | None
    retry_budget: RetryBudget | None
    rate_limit: RateLimit | None
    tenant: str
    runs: str | None
    program: Mapping[str, str] | None
    saga: SagaOptions | None
    origin: str
    digest: str
    version: str | None


def as_document(catalogue: Catalogue, app: App) -> AppDocument:
    return AppDocument.of(
        app,
        app=app.name,
        job_id=app.template.text if app.is_keyed_by_template else None,
        identifiers={name: str(app.kind(name)) for name in app.template.names}
        if app.is_keyed_by_template
        else {},
        autofill_values={name: values_of(values) for name, values in app.autofill.items()},
        chunks=_of_chunks(app.chunking) if app.chunking else None,
        partitions=_of_partitions(app.partitioning) if app.partitioning else None,
        table_dependencies=_tables_read(app.daily) if app.daily else [],
        parents=[ParentAlternative(group=name, apps=apps) for name, apps in parents_of(app).items()],
        children=children_of(catalogue, app),
        policy=policy_document(app.policy),
        runs=runs_of(app),
        program=program_document(app.program) if app.program else None,
        saga=_of_saga(app.saga) if app.saga else None,
        version=app.version or None,
    )


def parents_of(app: App) -> dict[str, list[str]]:
    """Return the parent apps by dependency group. Groups are alternatives, and each group needs all of its apps. An app
    that is not keyed by template has a single group ``default`` for its dependencies and tables. The tables that jobs
    with keys read belong to each of their groups.
    """
    if not app.is_keyed_by_template:
        parents = list(dict.fromkeys(app.parent_apps))
        return {"default": parents} if parents else {}
    read = app.daily.dependencies if app.daily else ()
    makers = [name for each in read if (name := each.producer or each.daily_maker)]
    if makers and not app.groups:
        return {"default": list(dict.fromkeys(makers))}
    named = {group.name: [name for parents in group.all_of for name in parents.apps] for group in app.groups}
    return {group: list(dict.fromkeys([*names, *makers])) for group, names in named.items()}


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
    notify = [{"on": list(rule.on), "to": rule.to.label} for rule in policy.notify]
    shown = {"env": dict.fromkeys(policy.env, "…"), "limits": limits, "debug": debug, "notify": notify}
    return {**asdict(policy), **shown}


def runs_of(app: App) -> str | None:
    return masked(app.bash_cmd) if app.bash_cmd else app.function_path


def program_document(program: Program) -> dict[str, str]:
    """Return the options that the app sets for its program, under their names in the definition and without
    passwords.
    """
    return {word: masked_source(text) if word == "source" else masked(text) for word, text in program.stated}


def _of_chunks(chunking: Chunking) -> ChunksDocument:
    return ChunksDocument.of(
        chunking,
        chunk_size=chunking.size,
        dependencies=[
            ChunkDependency(
                job_type=each.app,
                max_lag_s=each.lag_s_max,
                custom_kwargs=masked_kwargs(each.kwargs),
                allow_missing_work_ids=each.any_ids,
                unique=each.unique,
            )
            for each in chunking.dependencies
        ],
        select_work=chunking.select_path,
        default_work_ids=chunking.default_ids_path,
    )


def _of_saga(saga: Saga) -> SagaOptions:
    return SagaOptions(
        context=path_of(saga.context) if saga.context else None, hooks=[path_of(hook) for hook in saga.hooks]
    )


def _of_partitions(partitioning: Partitioning) -> PartitionsDocument:
    calendar, first = partitioning.calendar, partitioning.first
    return PartitionsDocument(
        output_table=partitioning.table,
        partition=_table_partition(calendar, first, partitioning.by),
        step_size=partitioning.step_size,
        table_dependencies=_tables_read(partitioning),
        modes=partitioning.modes,
    )


def _tables_read(partitioning: Partitioning) -> list[TableNeed]:
    return [
        TableNeed(
            table=each.table,
            app=each.producer or each.daily_maker,
            partition=_table_partition(
                each.calendar, None if each.first_s is None else each.calendar.at(each.first_s), each.by
            ),
            start_offset=None if each.start_offset is None else _written(each.start_offset),
            end_offset=_written(each.end_offset),
            start_cutoff=first_read(each),
            end_cutoff=last_read(each),
            cumulative=each.cumulative,
            all_slices=each.all_slices,
        )
        for each in partitioning.dependencies
    ]


def _table_partition(calendar: Calendar, first: int | None, by: Dimension | None) -> TablePartition:
    return TablePartition(
        unit=calendar.unit,
        format=calendar.pattern,
        example=calendar.example,
        first=None if first is None else calendar.write(first),
        by={by.name: by.values} if by else {},
    )


def _written(offset: Offset) -> int | str:
    return f"{offset.seconds}s" if offset.seconds else offset.partitions


def first_read(dependency: TableDependency) -> str | None:
    calendar, cutoff_s = dependency.calendar, dependency.start_cutoff_s
    return None if cutoff_s is None else calendar.write(calendar.at(cutoff_s))


def last_read(dependency: TableDependency) -> str | None:
    """Return the last partition that is read. It ends where the cut-off begins."""
    calendar, cutoff_s = dependency.calendar, dependency.end_cutoff_s
    return None if cutoff_s is None else calendar.write(calendar.at(cutoff_s - 1))
