"""Command ``sluice children``: list the jobs that need a job. It reads only the definitions."""

import argparse

from sluice.jobs.keys.work_ids import parts_of, short_text_of
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
from sluice.planner.keyspaces.partitions.partition_relation import children_of_job


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    all_option(parser)


def run(context: CommandContext, options: Options) -> int:
    if is_of_partitions(context.catalogue, options.app):
        context.output.answer(
            *partition_children(context.catalogue, options.app, options.key, whole=options.all)
        )
        return DONE
    name = related(context, options.app, options.key)
    app = context.catalogue[name.app]
    found = [
        *keyspace_of(app, context.catalogue).children(app, name.key),
        *children_of_job(context.catalogue, name),
    ]
    shown = excerpt(
        found,
        alike=lambda child: child.app,
        rest=lambda child, words: JobName(child.app, words),
        whole=options.all,
    )
    chunked = [*related_work_ids(context.catalogue, name)]
    table = Table(("app", "key"), list(shown), empty="" if chunked else _reason(context, name))
    context.output.answer(
        [*found, *({"app": app, "work_ids": parts_of(ids)} for app, ids in chunked)],
        *([table] if found or not chunked else []),
        *(
            Paragraph(f"Chunks of {app} with these work IDs need it: {short_text_of(ids)}")
            for app, ids in chunked
        ),
    )
    return DONE


def _reason(context: CommandContext, name: JobName) -> str:
    """Return why there are no children."""
    apps = context.catalogue.children_of(name.app)
    if not apps:
        return f"No job needs {name}: no app depends on {name.app}."
    return (
        f"No job needs {name}: other jobs of {name.app} are needed by {', '.join(apps)}, but this job is not."
    )
