"""Command ``sluice children``: list the jobs that need a job. It reads only the definitions."""

import argparse
from typing import NamedTuple

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import WorkId, parse_work_ids, parts_of, short_text_of
from sluice.jobs.model.names import JobName
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import all_option, excerpt
from sluice.ops.cli.page import Paragraph, Table
from sluice.ops.cli.parser import job_options
from sluice.ops.cli.partition_texts import is_of_partitions, partition_children
from sluice.ops.operations.job_names import related
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.chunks.chunk_inputs import related_work_ids
from sluice.planner.keyspaces.chunks.chunk_readers import WorkIdRelation
from sluice.planner.keyspaces.partitions.partition_relation import children_of_job


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    all_option(parser)


def run(context: CommandContext, options: Options) -> int:
    if is_of_partitions(context.catalogue, options.app):
        context.output.answer(
            *partition_children(context.catalogue, options.app, options.key, whole=options.whole)
        )
        return DONE
    found, chunked, empty = _related(context, options.app, options.key)
    shown = excerpt(
        found,
        alike=lambda child: child.app,
        rest=lambda child, words: JobName(child.app, words),
        whole=options.whole,
    )
    table = Table(("app", "key"), list(shown), empty="" if chunked else empty)
    context.output.answer(
        [*found, *({"app": app, "work_ids": parts_of(ids)} for app, ids in chunked)],
        *([table] if found or not chunked else []),
        *(
            Paragraph(f"Chunks of {app} with these work IDs need it: {short_text_of(ids)}")
            for app, ids in chunked
        ),
    )
    return DONE


class _Related(NamedTuple):
    """Jobs that need a job, the apps with the work IDs that need it, and the reason if there are none."""

    jobs: list[JobName]
    chunked: list[tuple[str, tuple[WorkId, ...]]]
    empty: str


def _related(context: CommandContext, app: str, key: str) -> _Related:
    """Return the jobs that need a job, or work IDs if the app is keyed by chunk and jobs with keys need it."""
    catalogue = context.catalogue
    if app in catalogue and catalogue[app].chunking and catalogue.bridged_by(app):
        ids = _work_ids(app, key)
        empty = f"No job with a key needs these work IDs of {app}: {short_text_of(ids)}"
        return _Related(WorkIdRelation(catalogue).children(catalogue[app], ids), [], empty)
    name = related(context, app, key)
    children = keyspace_of(catalogue[name.app], catalogue).children(catalogue[name.app], name.key)
    jobs = [*children, *children_of_job(catalogue, name)]
    return _Related(jobs, [*related_work_ids(catalogue, name)], _reason(context, name))


def _work_ids(app: str, text: str) -> tuple[WorkId, ...]:
    try:
        return parse_work_ids(text)
    except ValueError as error:
        raise BadRequest(
            f"{error}.", where=app, advice="Give work IDs like 1-3,7 in place of a key."
        ) from None


def _reason(context: CommandContext, name: JobName) -> str:
    """Return why there are no children."""
    apps = context.catalogue.children_of(name.app)
    if not apps:
        return f"No job needs {name}: no app depends on {name.app}."
    return (
        f"No job needs {name}: other jobs of {name.app} are needed by {', '.join(apps)}, but this job is not."
    )
