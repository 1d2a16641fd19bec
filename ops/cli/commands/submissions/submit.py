"""Command ``sluice submit``: request jobs. The ledger stores the submission. Workers plan and run it."""

import argparse
from typing import TYPE_CHECKING

from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.submission_options import is_waiting, submission_of, submission_options, wait_options

if TYPE_CHECKING:
    from sluice.ops.operations.installation import Installation


def options(parser: argparse.ArgumentParser) -> None:
    submission_options(parser)
    wait_options(parser)


def run(context: CommandContext, options: Options) -> int:
    from sluice.ops.operations.installation import Installation  # noqa: PLC0415 - slower than a help text

    return ask(context, Installation(context), submission_of(options), options)


def ask(
    context: CommandContext,
    installation: "Installation",
    submission: Submission,
    options: Options,
    *,
    did: str = "submit",
) -> int:
    """Submit and print the id. With the options to wait, follow the submission to its end and show the outcome.
    ``did`` is the act in the audit."""
    from sluice.actors import audit_results  # noqa: PLC0415 - slower than a help text
    from sluice.ops.cli.follow import watch  # noqa: PLC0415 - slower than a help text
    from sluice.ops.operations.submission_checks import check  # noqa: PLC0415 - slower than a help text

    if context.settings.apps:
        check(context.catalogue, submission)
    known = installation.client.status(submission.id) if submission.id else None
    if known is not None and known.state is SubmissionState.REFUSED:
        # A refused submission is submitted again.
        known = None
    client = installation.doing(did, audit_results.about_submission(submission), audit_results.submitted)
    id_ = client.submit(submission)
    if known is not None:
        context.output.note(
            Paragraph(f"Submission {id_} exists ({known.state}); nothing new is submitted.", "yellow")
        )
    if is_waiting(options):
        return watch(context, installation, id_, options.wait_timeout)
    if context.output.is_interactive:
        _note_missing_planner(context, installation)
    state = known.state if known else SubmissionState.RECEIVED
    context.output.answer({"submission": id_, "state": state}, Paragraph(id_))
    return DONE


def _note_missing_planner(context: CommandContext, installation: "Installation") -> None:
    from sluice.broker.messages import PLANNER  # noqa: PLC0415 - slower than a help text
    from sluice.ledger.reads import fleet  # noqa: PLC0415 - slower than a help text
    from sluice.ops.cli.submission_result import NO_PLANNER  # noqa: PLC0415 - slower than a help text

    if not installation.ask(lambda tx: fleet.servers(tx, [PLANNER])):
        context.output.note(Paragraph(NO_PLANNER, "yellow"))
