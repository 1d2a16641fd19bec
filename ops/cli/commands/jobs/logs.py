"""Command ``sluice logs``: show the output of a job's rounds, in full if it was stored in full. The output of a running
round is shown as far as it is known.

With --course it shows the state changes of the job instead. With --follow it also shows output as it comes, and later
rounds or state changes, until the job has ended. With --json it then writes one line for each round that has ended, or
for each state change.
"""

import argparse
import re
import time
from itertools import chain

from sluice.actors.assembly import blobs
from sluice.jobs.blobs import BlobsUnavailable
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.history import Round
from sluice.jobs.model.job import KEPT_BYTES
from sluice.jobs.states import TERMINAL
from sluice.ledger.reads.job_details import Dossier
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Verbatim
from sluice.ops.cli.parser import job_options
from sluice.ops.documents.job_document import log, removed, round_document
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.job_records import dossier_of
from sluice.ops.text import apart, moment

#: Seconds between two checks of a job that is followed. Its worker stores its output every half second.
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
        "-f",
        "--follow",
        action="store_true",
        help="also show output as it comes until the job ends; with --json a line for each round that has ended",
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
    rounds = _written(found, options.round)
    if options.round is not None and options.round not in {each.round for each in found.rounds}:
        raise BadRequest(f"{found.job.name} has no round {options.round}.", advice=_past(found))
    context.output.answer({**_job(found), "rounds": [round_document(each) for each in rounds]})
    for each in rounds:
        _show(context, each)
    if not rounds and not found.job.is_pruned:
        what = f"{found.job.name} is {found.job.state}; it has written nothing yet."
        context.output.note(Paragraph(what, "bright_black"))
    _note_removed(context, found)
    return DONE


def _follow(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    show = _StepFollower(context).show if options.course else _RoundFollower(context, options.round).show
    while True:
        found = dossier_of(context, installation, options.app, options.key)
        show(found)
        if found.job.state in TERMINAL:
            _note_removed(context, found)
            return DONE
        time.sleep(FOLLOW_EVERY_S)


class _StepFollower:
    """State changes of a job that is followed."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._shown = 0

    def show(self, found: Dossier) -> None:
        """Show the state changes that were not shown yet."""
        lines = log(found)
        for line in lines[self._shown :]:
            self._context.output.stream({"log": line}, Paragraph(line))
        self._shown = len(lines)


class _RoundFollower:
    """Rounds of a job that is followed, or one of them. Programs get each round when it has ended."""

    def __init__(self, context: CommandContext, number: int | None) -> None:
        self._context = context
        self._number = number
        self._ended: set[int] = set()
        #: Output and stderr that were shown of rounds that have not ended, by claim.
        self._shown: dict[int, tuple[str, str]] = {}

    def show(self, found: Dossier) -> None:
        """Show the new rounds and lines."""
        for each in _written(found, self._number):
            if each.claim in self._ended:
                continue
            if each.executed_at is None:
                self._show_so_far(each)
                continue
            self._ended.add(each.claim)
            self._context.output.stream(round_document(each))
            if each.claim in self._shown:
                self._show_rest(each)
            else:
                _show(self._context, each)

    def _show_so_far(self, each: Round) -> None:
        """Show the new lines of a round that has not ended. An unfinished line waits for its end."""
        if each.claim not in self._shown:
            self._context.output.say(_heading(each))
        self._say_new(each, _whole_lines(each.output), _whole_lines(each.stderr))

    def _show_rest(self, each: Round) -> None:
        self._say_new(each, each.output or "", each.stderr or "")
        self._context.output.say(_heading(each))
        if each.log:
            self._context.output.say(Verbatim(each.log.rstrip("\n"), "bright_black"))
        if each.output_blob or each.stderr_blob:
            what = f"Without --follow, `sluice logs --round {each.round}` shows its output in full."
            self._context.output.note(Paragraph(what, "bright_black"))
        _show_error(self._context, each)

    def _say_new(self, each: Round, output: str, stderr: str) -> None:
        before = self._shown.get(each.claim, ("", ""))
        self._shown[each.claim] = (output, stderr)
        for text, style in (
            (added(before[0], output), ""),
            (apart(added(before[1], stderr), output), "yellow"),
        ):
            if text:
                self._context.output.say(Verbatim(text.rstrip("\n"), style))


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


def _written(found: Dossier, number: int | None) -> list[Round]:
    """Return the rounds that have ended or have written something."""
    return [
        each
        for each in found.rounds
        if (each.executed_at or each.output or each.stderr) and number in (None, each.round)
    ]


def _past(found: Dossier) -> str:
    numbers = sorted({each.round for each in found.rounds})
    if numbers:
        return f"It has the rounds {', '.join(map(str, numbers))}."
    words = removed(found.job)
    return f"{words[:1].upper()}{words[1:]}." if words else "It has not run yet."


def _show(context: CommandContext, each: Round) -> None:
    """Show a round to people. Output that was stored in full is read in pieces."""
    output = context.output
    output.say(_heading(each))
    if each.log:
        output.say(Verbatim(each.log.rstrip("\n"), "bright_black"))
    stderr = apart(each.stderr or "", each.output or "")
    for text, blob, style in ((each.output, each.output_blob, ""), (stderr, each.stderr_blob, "yellow")):
        if blob is not None and not output.is_document:
            _pour(context, blob, text or "", style)
        elif text:
            output.say(Verbatim(text.rstrip("\n"), style))
    _show_error(context, each)


def _heading(each: Round) -> Paragraph:
    if each.executed_at is None:
        how = f"running since {moment(each.running_at)} UTC"
    else:
        how = f"{moment(each.executed_at)} UTC: {each.ending}"
    return Paragraph(f"round {each.round} on {each.worker}, {how}", "bold")


def _show_error(context: CommandContext, each: Round) -> None:
    output = context.output
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


#: Note in place of the middle of a long output (``jobs.runners.output``).
_LEFT_OUT = re.compile(r"\n… (\d+) bytes left out …\n")
#: Bytes that a cut may have removed from a character on each of its sides, and so the inaccuracy of a length.
_CUT_BYTES = 6
#: Characters at the end of a known output by which its place in a later one is found.
_OVERLAP_CHARS = 400


def added(before: str, now: str) -> str:
    """Return the lines by which a kept output has grown. Of much new output, only the end is kept."""
    if now.startswith(before):
        return now[len(before) :]
    left_out, end = _parts(now)
    if not left_out:
        # The output of a long-running service is cut at its beginning, without a note.
        _, known, new = now.rpartition(before[-_OVERLAP_CHARS:])
        return new if known else now
    count = max(_length(now) - _length(before), 0)
    if count > len(end):
        return f"… {count - len(end)} bytes left out …\n{end.decode()}"
    return end[_line_start(end, len(end) - count) :].decode("utf-8", "replace")


def _parts(text: str) -> tuple[int, bytes]:
    """Return the number of bytes before the kept end of a text, and that end."""
    for found in _LEFT_OUT.finditer(text):
        beginning = len(text[: found.start()].encode())
        # Elsewhere, the job has printed such a note itself.
        if KEPT_BYTES - _CUT_BYTES <= beginning <= KEPT_BYTES:
            return beginning + int(found[1]), text[found.end() :].encode()
    return 0, text.encode()


def _length(text: str) -> int:
    before, end = _parts(text)
    return before + len(end)


def _line_start(text: bytes, about: int) -> int:
    """Return the start of the line that begins about here."""
    for place in sorted(
        range(about - _CUT_BYTES, about + _CUT_BYTES + 1), key=lambda place: abs(place - about)
    ):
        if place == 0 or (0 < place <= len(text) and text[place - 1 : place] == b"\n"):
            return place
    return about


def _whole_lines(text: str | None) -> str:
    """Return the text without an unfinished last line."""
    return (text or "")[: (text or "").rfind("\n") + 1]
