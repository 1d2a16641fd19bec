"""Command ``sluice logs``: show the output of a job's rounds, in full if it was stored in full. Output is stored when a
round ends.

With --course it shows the state changes of the job instead. With --follow it also shows later rounds or state changes
until the job has ended. With --json it then writes one line for each.
"""

import argparse
import time
from functools import partial
from itertools import chain

from sluice.actors.assembly import blobs
from sluice.jobs.blobs import BlobsUnavailable
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.history import Round
from sluice.jobs.states import TERMINAL
from sluice.ledger.reads.job_details import Dossier
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Verbatim
from sluice.ops.cli.parser import job_options
from sluice.ops.documents.job_document import log, removed, round_document
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.job_records import dossier_of
from sluice.ops.text import moment

FOLLOW_EVERY_S = 0.3


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--round", type=int, metavar="N", help="show only this round; default: all rounds")
    what.add_argument(
        "--course",
        action="store_true",
        help="show the state changes of the job instead of its output",
    )
    parser.add_argument(
        "--follow",
        action="store_true",
        help="also show later rounds until the job ends; with --json a line for each",
    )


def run(context: CommandContext, options: Options) -> int:
    if options.follow:
        return _follow(context, options)
    found = dossier_of(context, Installation(context), options.app, options.key)
    if options.course:
        lines = log(found)
        context.output.answer({**_job(found), "log": lines}, *map(Paragraph, lines))
        _note_removed(context, found)
        return DONE
    rounds = _ended(found, options.round)
    if options.round is not None and options.round not in {each.round for each in found.rounds}:
        raise BadRequest(f"{found.job.name} has no round {options.round}.", advice=_past(found))
    context.output.answer({**_job(found), "rounds": [round_document(each) for each in rounds]})
    for each in rounds:
        _show(context, each)
    if not rounds and not found.job.is_pruned:
        what = f"{found.job.name} is {found.job.state}; no round of it has ended."
        context.output.note(Paragraph(what, "bright_black"))
    _note_removed(context, found)
    return DONE


def _follow(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    tell = _tell_steps if options.course else partial(_tell_rounds, number=options.round)
    told = 0
    while True:
        found = dossier_of(context, installation, options.app, options.key)
        told = tell(context, found, told)
        if found.job.state in TERMINAL:
            _note_removed(context, found)
            return DONE
        time.sleep(FOLLOW_EVERY_S)


def _tell_steps(context: CommandContext, found: Dossier, told: int) -> int:
    """Show the state changes that were not shown yet. Return how many have been shown by now."""
    lines = log(found)
    for line in lines[told:]:
        context.output.stream({"log": line}, Paragraph(line))
    return len(lines)


def _tell_rounds(context: CommandContext, found: Dossier, told: int, *, number: int | None) -> int:
    """Show the ended rounds that were not shown yet. Return how many have been shown by now."""
    rounds = _ended(found, number)
    for each in rounds[told:]:
        context.output.stream(round_document(each))
        _show(context, each)
    return len(rounds)


def _note_removed(context: CommandContext, found: Dossier) -> None:
    """Write a note if the history, or a part of it, was removed."""
    if words := removed(found.job):
        job = found.job
        what = f"{job.name} is {job.state} since {moment(job.changed_at)} UTC; {words}."
        context.output.note(Paragraph(what, "bright_black"))


def _job(found: Dossier) -> dict[str, object]:
    return {
        "app": found.job.app,
        "key": found.job.key,
        "state": found.job.state,
        **({"pruned_at": found.job.pruned_at} if found.job.pruned_at else {}),
    }


def _ended(found: Dossier, number: int | None) -> list[Round]:
    return [each for each in found.rounds if each.executed_at and number in (None, each.round)]


def _past(found: Dossier) -> str:
    numbers = sorted({each.round for each in found.rounds})
    if numbers:
        return f"It has the rounds {', '.join(map(str, numbers))}."
    words = removed(found.job)
    return f"{words[:1].upper()}{words[1:]}." if words else "It has not run yet."


def _show(context: CommandContext, each: Round) -> None:
    """Show a round to people. Output that was stored in full is read in pieces."""
    output = context.output
    output.say(
        Paragraph(
            f"round {each.round} on {each.worker}, {moment(each.executed_at)} UTC: {each.ending}", "bold"
        )
    )
    if each.log:
        output.say(Verbatim(each.log.rstrip("\n"), "bright_black"))
    for text, blob, style in ((each.output, each.output_blob, ""), (each.stderr, each.stderr_blob, "yellow")):
        if blob is not None and not output.as_json:
            _pour(context, blob, text or "", style)
        elif text:
            output.say(Verbatim(text.rstrip("\n"), style))
    # The error of a program repeats its stderr, which is shown above.
    if error := (each.error or "").removesuffix(each.stderr or "").rstrip("\n"):
        output.say(Verbatim(error, "red"))
    if each.error_after_commit:
        output.say(Paragraph("After its transaction was committed:", "red"))
        output.say(Verbatim(each.error_after_commit.rstrip("\n"), "red"))


def _pour(context: CommandContext, blob: str, text: str, style: str) -> None:
    """Show the stored output in full. If the store is unavailable, show the beginning and the end of it from the
    ledger.
    """
    pieces = blobs(context.settings).read(blob)
    try:
        first = next(pieces, b"")
    except BlobsUnavailable as error:
        context.output.note(Paragraph(f"{error.what} The ledger has this part of it:", "bright_black"))
        context.output.say(Verbatim(text.rstrip("\n"), style))
    else:
        context.output.pour(chain([first], pieces))
