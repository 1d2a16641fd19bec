"""Command ``sluice apps show``: show the apps as Sluice has read their definitions."""

import argparse
import json
from collections.abc import Iterable

from msgspec.json import encode

from sluice.jobs.catalogue.fields.written_policy import changed_options
from sluice.jobs.catalogue.sources.functions import path_of
from sluice.jobs.keys.chunks import Chunking, Dependency
from sluice.jobs.keys.identifiers import Values
from sluice.jobs.keys.partitions import UNBOUNDED
from sluice.jobs.model.app import App
from sluice.jobs.policy.breaker import Breaker
from sluice.jobs.policy.rate_limit import RateLimit
from sluice.jobs.policy.retry_budget import RetryBudget
from sluice.jobs.policy.tenants import DEFAULT_TENANT
from sluice.jobs.sagas.spec import Saga
from sluice.jobs.text.redaction import masked_kwargs
from sluice.ops.cli import partition_texts
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.documents.app_document import (
    as_document,
    children_of,
    parents_of,
    program_document,
    runs_of,
    values_of,
)
from sluice.ops.text import span


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", nargs="?", help="show all details of this app; default: list all apps")


def run(context: CommandContext, options: Options) -> int:
    if options.app is None:
        apps = sorted(
            context.catalogue.values(), key=lambda app: (context.catalogue.rank(app.name), app.name)
        )
        context.output.answer([as_document(context.catalogue, app) for app in apps], _list(apps))
    else:
        app = context.catalogue.app(options.app)
        context.output.answer(as_document(context.catalogue, app), *_portrait(context, app))
    return DONE


def _list(apps: Iterable[App]) -> Block:
    rows = [(app.name, app.job_type, _key(app), _needs(app)) for app in apps]
    return Table(("app", "type", "key", "parents"), rows, prose=True, empty="No apps.")


def _portrait(context: CommandContext, app: App) -> Iterable[Block]:
    yield Paragraph(app.name, "bold")
    facts = {
        "type": app.job_type,
        "runs": runs_of(app),
        **(program_document(app.program) if app.program else {}),
        **(_facts_of_saga(app.saga) if app.saga else {}),
        "key": f"{app.template.text}, like {app.example_key}" if app.is_keyed_by_template else _key(app),
        "parents": _needs(app),
        "children": ", ".join(children_of(context.catalogue, app)),
        **_facts(app),
        "breaker": _breaker(app.breaker) if app.breaker else "",
        "retry budget": _budget(app.retry_budget) if app.retry_budget else "",
        "rate limit": _rate(app.rate_limit) if app.rate_limit else "",
        "tenant": _tenant(app),
        "defined in": app.origin,
    }
    yield from (Paragraph(f"{word}: {fact}", indent=2) for word, fact in facts.items() if fact)
    yield Paragraph()
    yield _needed(app)
    if app.daily and app.daily.dependencies:
        yield partition_texts.tables_of(app.daily)
    yield Paragraph()
    policy = [(option, _written(value)) for option, value in changed_options(app.policy).items()]
    policy += [("notify", f"{', '.join(rule.on)} to {rule.to.label}") for rule in app.policy.notify]
    yield Table(("policy", ""), policy, prose=True, empty="Its policy is the default.")


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tenant(app: App) -> str:
    return "" if app.tenant == DEFAULT_TENANT else app.tenant


def _budget(budget: RetryBudget) -> str:
    return f"{budget.retries} at once, and as many more in each {span(budget.per_s)}"


def _rate(limit: RateLimit) -> str:
    each = f" for each {limit.key}" if limit.key else ""
    return f"{limit.starts} starts in each {span(limit.per_s)}, {limit.burst} at once{each}"


def _breaker(breaker: Breaker) -> str:
    longest = (
        f", later for up to {span(breaker.pause_s_max)}" if breaker.pause_s_max > breaker.pause_s else ""
    )
    return f"opens after {breaker.fails} fails in a row, for {span(breaker.pause_s)}{longest}"


def _facts(app: App) -> dict[str, str]:
    """Return the facts that are specific to the app's kind of key."""
    if app.partitioning:
        return partition_texts.facts_of(app.partitioning, app.version)
    if app.table_of_days:
        return {"fills": f"{app.table_of_days}; all jobs of a day make its partition"}
    return _facts_of_chunks(app.chunking) if app.chunking else {}


def _needed(app: App) -> Block:
    """Return a table of the app's identifiers, of its dependencies, or of the tables that it reads."""
    if app.partitioning:
        return partition_texts.tables_of(app.partitioning)
    return _dependencies(app, app.chunking) if app.chunking else _identifiers(app)


def _identifiers(app: App) -> Block:
    rows = [
        (name, app.kind(name), ", ".join(map(str, values_of(app.autofill.get(name, Values())))))
        for name in app.template.names
    ]
    return Table(("identifier", "is", "values"), rows, prose=True)


def _facts_of_chunks(chunking: Chunking) -> dict[str, str]:
    return {
        "work IDs from": chunking.select_path or chunking.default_ids_path or "the submission",
        "fresh by": ", ".join(["work ID", *chunking.freshness_by]) if chunking.freshness_by else "",
        "scheduled": "also while jobs of it are under way" if chunking.allow_multiple_jobs else "",
        "reads": ", ".join(chunking.data_sources),
        "writes": ", ".join(chunking.data_sinks),
    }


def _dependencies(app: App, chunking: Chunking) -> Block:
    rows = [(each.app, _lag(each.lag_s_max), _besides(each)) for each in chunking.dependencies]
    for parents in (parents for group in app.groups for parents in group.all_of):
        by = f"keys by {parents.function.path}" if parents.function else ""
        lag = "any time" if parents.lag_s_max is None else _lag(parents.lag_s_max)
        rows += [(name, lag, by) for name in parents.apps or ("any app with keys",)]
    return Table(
        ("dependency", "is fresh for", "conditions"), rows, prose=True, empty="It needs no other app."
    )


def _lag(lag_s_max: float) -> str:
    return span(lag_s_max) if lag_s_max else "no time"


def _besides(dependency: Dependency) -> str:
    said = {"any work IDs": dependency.any_ids, "for this app alone": dependency.unique}
    kwargs = [f"{name}={encode(value).decode()}" for name, value in masked_kwargs(dependency.kwargs).items()]
    return ", ".join([*kwargs, *(words for words, holds in said.items() if holds)])


def _facts_of_saga(saga: Saga) -> dict[str, str]:
    return {
        "context": path_of(saga.context) if saga.context else "",
        "hooks": ", ".join(path_of(hook) for hook in saga.hooks),
    }


def _key(app: App) -> str:
    """Return the form of the app's keys. The key of a chunk is generated, and the key of a partition job follows from
    its partitions. So these show the maximum size of a job.
    """
    if app.unbounded and app.partitioning:
        return UNBOUNDED
    if app.partitioning:
        return partition_texts.size_of(app.partitioning)
    if not app.chunking:
        return app.template.text
    return "one work ID" if app.chunking.size == 1 else f"up to {app.chunking.size:,} work IDs"


def _needs(app: App) -> str:
    return " or ".join(", ".join(apps) for apps in parents_of(app).values())
