"""Command ``sluice saga show``: show the steps of a saga, done and undone, and the event that it waits for."""

import argparse
from collections.abc import Iterator

from sluice.jobs.states import State
from sluice.ledger.reads.job_details import Dossier
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.flight_page import page, way_out
from sluice.ops.cli.output import watch_option
from sluice.ops.cli.page import Block, Paragraph, colour
from sluice.ops.cli.parser import job_options
from sluice.ops.documents.job_document import removed
from sluice.ops.documents.saga_document import whole_document
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.sagas import saga_of
from sluice.ops.text import moment


def options(parser: argparse.ArgumentParser) -> None:
    watch_option(parser)
    job_options(parser)
    parser.add_argument("--traceback", action="store_true", help="show the tracebacks of its failures")


def run(context: CommandContext, options: Options) -> int:
    found = saga_of(context, Installation(context), options.app, options.key)
    context.output.answer(whole_document(found), *_page(found, traceback=options.traceback))
    return DONE


def _page(found: Dossier, *, traceback: bool) -> Iterator[Block]:
    job = found.job
    yield Paragraph(f"{job.name} {job.state} since {moment(job.changed_at)} UTC", f"bold {colour(job.state)}")
    if words := removed(job):
        yield Paragraph(words, indent=2)
    if job.is_pruned:
        return
    yield from page(found.flight, job.state, traceback=traceback)
    if job.state is State.FATAL:
        yield from way_out(job.name, found.flight)
