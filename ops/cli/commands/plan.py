"""``sluice plan``: what a submission would come to. It changes nothing; with --facts it needs no ledger."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from msgspec.structs import replace

from jobs.states import State
from jobs.submission import Submission
from ops.cli.asking import check, moment_option, submission_of, submission_options
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.excerpt import all_option, excerpt
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
    all_option(parser)


def run(desk: Desk, options: Options) -> int:
    submission = replace(submission_of(options), id="preview")
    found, paces_s = _given(desk, submission, options.facts) if options.facts else _known(desk, submission)
    now = datetime.fromisoformat(options.now) if options.now else datetime.now(UTC)
    document = as_document(found, paces_s, now=now)
    desk.output.answer(document, *_page(document, whole=options.all))
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


class Row(NamedTuple):
    job: str
    key: str
    state: State
    after: str


def _page(document: Mapping[str, Any], *, whole: bool) -> Iterator[Block]:
    jobs = [
        Row(job["ref"], job["key"], State(job["state"]), _after(job["gates"])) for job in document["jobs"]
    ]
    rows = excerpt(
        jobs,
        alike=lambda row: (row.job.partition("#")[0], row.state),
        rest=lambda row, words: row._replace(key=words, after=""),
        whole=whole,
    )
    yield Table(("job", "key", "state", "after"), list(rows), prose=True)
    yield from _told(document["waits_for"], "is under way", "why", "cyan", whole=whole)
    yield from _told(document["satisfied"], "need not run", "why", "bright_black", whole=whole)
    yield from _told(document["errors"], "cannot run", "what", "red", whole=whole)
    would = "1 job would run" if len(jobs) == 1 else f"{len(jobs)} jobs would run"
    known = f", about {span(document['estimated_s'])} of work" if "estimated_s" in document else ""
    yield Line(f"{would}{known}.", "bold")


def _told(
    jobs: Iterable[Mapping[str, Any]], fate: str, reason: str, style: str, *, whole: bool
) -> Iterator[Block]:
    shown = excerpt(
        jobs,
        alike=lambda job: (job["app"], job[reason]),
        rest=lambda job, words: {"app": job["app"], "key": words, reason: job[reason]},
        whole=whole,
    )
    for job in shown:
        name = f"{job['ref']} {job['key']}" if "ref" in job else f"{job['app']}/{job['key']}"
        yield Line(f"{name} {fate} ({job[reason]})", style)


def _after(gates: list[dict[str, Any]]) -> str:
    """Gates are alternatives."""
    several = len(gates) > 1
    return " | ".join(f"{gate['name']}: {_needs(gate)}" if several else _needs(gate) for gate in gates)


def _needs(gate: Mapping[str, Any]) -> str:
    """Those that are to succeed, then those that are to come to something else."""
    unusual: Mapping[str, str] = gate.get("when", {})
    told = [_shortened([ref for ref in gate["needs"] if ref not in unusual])]
    for when in sorted(set(unusual.values())):
        told.append(f"{_shortened([ref for ref in unusual if unusual[ref] == when])} {when}")
    return ", ".join(filter(None, told)) or "nothing"


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
