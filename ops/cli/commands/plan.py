"""``sluice plan``: what a submission would come to. It changes nothing; with --facts it needs no ledger."""

import argparse
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from jobs.states import State
from jobs.submission import Submission
from ops.cli.asking import check, moment_option, submission_of, submission_options
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.page import Block, Line, Table
from ops.facts import read_facts
from ops.preview import as_document
from ops.times import span
from planner.preview import Preview, preview


def options(parser: argparse.ArgumentParser) -> None:
    submission_options(parser)
    parser.add_argument("--facts", metavar="FILE", help="JSON in place of what the ledger knows; - is stdin")
    parser.add_argument("--now", metavar="T", type=moment_option, help="plan as of this time")


def run(desk: Desk, options: Options) -> int:
    submission = replace(submission_of(options), id="preview")
    found, paces_s = _given(desk, submission, options.facts) if options.facts else _known(desk, submission)
    now = datetime.fromisoformat(options.now) if options.now else datetime.now(UTC)
    document = as_document(found, paces_s, again=submission.rerun is not None, now=now)
    desk.output.answer(document, *_page(document))
    return DONE


def _given(desk: Desk, submission: Submission, file: str) -> tuple[Preview, Mapping[str, float]]:
    facts = read_facts(file, desk.catalogue)
    found = preview(
        desk.catalogue, submission, lambda names: {name: facts[name] for name in names if name in facts}
    )
    return found, {}


def _known(desk: Desk, submission: Submission) -> tuple[Preview, Mapping[str, float]]:
    from ops.cli.known import known_preview  # noqa: PLC0415 - it takes longer than to plan on given facts

    check(desk.catalogue, submission)
    return known_preview(desk, submission)


def _page(document: Mapping[str, Any]) -> Iterator[Block]:
    rows = [(job["ref"], job["key"], State(job["state"]), _after(job["gates"])) for job in document["jobs"]]
    yield Table(("job", "key", "state", "after"), rows, prose=True)
    for each in document["waits_for"]:
        yield Line(f"{each['ref']} {each['key']} is under way ({each['why']})", "cyan")
    for each in document["satisfied"]:
        yield Line(f"{each['app']}/{each['key']} need not run ({each['why']})", "bright_black")
    for each in document["errors"]:
        yield Line(f"{each['app']}/{each['key']} cannot run ({each['what']})", "red")
    would = "1 job would run" if len(rows) == 1 else f"{len(rows)} jobs would run"
    known = f", about {span(document['estimated_s'])} of work" if "estimated_s" in document else ""
    yield Line(f"{would}{known}.", "bold")


def _after(gates: list[dict[str, Any]]) -> str:
    """Gates are alternatives."""
    return " | ".join(_shortened(gate["needs"]) or "nothing" for gate in gates)


def _shortened(references: list[str]) -> str:
    """``fetch#1-6, clean#2``: numbers of one app that follow each other are told by the first and the last."""
    named = [ref for ref in references if "/" in ref]
    split = (ref.split("#") for ref in references if "/" not in ref)
    numbered = sorted((app, int(number)) for app, number in split)
    runs = groupby(enumerate(numbered), key=lambda item: (item[1][0], item[1][1] - item[0]))
    told = []
    for (app, _), members in runs:
        first, *rest = [number for _, (_, number) in members]
        told.append(f"{app}#{first}-{rest[-1]}" if rest else f"{app}#{first}")
    return ", ".join(told + named)
