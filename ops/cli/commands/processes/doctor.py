"""Command ``sluice doctor``: report problems of settings, definitions, ledger, workers and broker, with advice.

It changes nothing, and no part of it takes longer than 15 s. The exit code is 1 if a finding is bad. It is 3 if the
ledger or the broker is out of reach.
"""

import argparse
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from sluice.actors.settings.settings import process_found
from sluice.ops.cli.command import DONE, FAILED, OUT_OF_REACH, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import PROSE_CHARS_MIN, Block, Paragraph, StyledLine
from sluice.ops.console.server import read_place
from sluice.ops.observe.doctor.finding import Finding, FindingLevel
from sluice.ops.observe.doctor.run_probes import Examination

_COLOURS = {FindingLevel.OK: "green", FindingLevel.WARN: "yellow", FindingLevel.BAD: "red"}
#: Column at which the text of a finding begins.
_MARGIN = 19


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        default="127.0.0.1:8484",
        metavar="HOST:PORT",
        help="address at which the console listens or will listen; default: %(default)s",
    )
    parser.add_argument(
        "--management",
        metavar="URL",
        help="management API of RabbitMQ; default: port 15672 of the broker's host",
    )


def run(context: CommandContext, options: Options) -> int:
    examination = Examination(context, listen=read_place(options.listen), management=options.management)
    findings = []
    found = process_found(apps=options.apps, ledger_url=options.ledger, broker_url=options.broker)
    for finding in examination.findings(found):
        findings.append(finding)
        context.output.say(*_lines(finding, context.output.width))
    counts = Counter(each.level for each in findings)
    context.output.answer(
        {"findings": findings, "counts": {level: counts[level] for level in FindingLevel}},
        Paragraph(),
        Paragraph(", ".join(f"{counts[level]} {level}" for level in FindingLevel)),
    )
    return _exit_code(findings)


def _exit_code(findings: Sequence[Finding]) -> int:
    if any(each.out_of_reach for each in findings):
        return OUT_OF_REACH
    return FAILED if any(each.level is FindingLevel.BAD for each in findings) else DONE


def _lines(finding: Finding, width: int | None) -> Iterator[Block]:
    """Yield the lines of a finding. The level and the topic are on the left. The text with its place is on the right,
    and the advice below it.
    """
    what = f"{finding.what}  [{finding.where}]" if finding.where else finding.what
    text = [(line, "") for line in _wrapped(what, width)]
    text += [(line, "bright_black") for line in _wrapped(finding.advice and f"→ {finding.advice}", width)]
    heads = chain([(str(finding.level), finding.about)], repeat(("", "")))
    for (level, about), (line, style) in zip(heads, text, strict=False):
        yield StyledLine(
            [(f"{level:<5}", _COLOURS[finding.level]), (f"{about:<{_MARGIN - 5}}", "bold"), (line, style)]
        )


def _wrapped(text: str, width: int | None) -> list[str]:
    room = max(width - _MARGIN, PROSE_CHARS_MIN) if width else 0
    return (
        textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        if room
        else [text][: len(text)]
    )
