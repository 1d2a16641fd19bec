"""Commands about what depends on what: parents, children, plan, graph."""

import argparse
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from jobs.errors import BadRequest
from jobs.ref import JobName
from jobs.states import State
from ledger import judging, planning
from ops.cli.asking import submission_of, submission_options
from ops.cli.command import Command, Options
from ops.cli.desk import Desk
from ops.cli.naming import job_options, named_job
from ops.facts import read_facts
from ops.graph import FORMATS, app_graph, job_graph
from ops.preview import as_document
from planner.keyspaces import keyspace_of
from planner.preview import preview


def parents(desk: Desk, options: Options) -> int:
    app = desk.catalogue.app(options.app)
    name = named_job(desk, options)
    gates = keyspace_of(app, desk.catalogue).gates(app, name.key)
    if desk.output.as_json:
        desk.output.document(
            [{"group": gate.name, "jobs": [[*need.parent] for need in gate.needs]} for gate in gates]
        )
    else:
        rows = ((gate.name, need.parent.app, need.parent.key) for gate in gates for need in gate.needs)
        desk.output.table(("group", "app", "key"), rows)
    return 0


def children(desk: Desk, options: Options) -> int:
    app = desk.catalogue.app(options.app)
    name = named_job(desk, options)
    found = [[*child] for child in keyspace_of(app, desk.catalogue).children(app, name.key)]
    if desk.output.as_json:
        desk.output.document(found)
    else:
        desk.output.table(("app", "key"), found)
    return 0


def plan(desk: Desk, options: Options) -> int:
    """Changes nothing: it looks at the ledger, or at the facts it is given instead."""
    submission = msgspec.structs.replace(submission_of(options), id="preview")
    if options.facts:
        facts = read_facts(Path(options.facts), desk.catalogue)
        found = preview(desk.catalogue, submission, lambda names: {n: facts[n] for n in names if n in facts})
        paces_s: Mapping[str, float] = {}
    else:
        found = preview(desk.catalogue, submission, lambda names: _states(desk, names))
        apps = [job.name.app for job in found.jobs]
        paces_s = desk.ledger.transact(lambda tx: judging.paces_s(tx, apps))
    document = as_document(found, paces_s)
    if desk.output.as_json:
        desk.output.document(document)
    else:
        _print_plan(desk, document)
    return 0


def graph(desk: Desk, options: Options) -> int:
    if options.key is not None:
        name = named_job(desk, options)
        drawn = desk.ledger.transact(lambda tx: job_graph(tx, name))
        if drawn is None:
            raise BadRequest(f"The ledger has no job {name}.", advice="`sluice plan` shows what would be.")
    else:
        drawn = app_graph(desk.catalogue, options.app)
    text = FORMATS["json" if desk.output.as_json else options.format](drawn)
    if options.output:
        Path(options.output).write_text(text)
    else:
        desk.output.line(text) if not desk.output.as_json else desk.output.document(msgspec.Raw(text.encode()))
    return 0


def _states(desk: Desk, names: list[JobName]) -> dict[JobName, State]:
    known = desk.ledger.transact(lambda tx: planning.find(tx, names))
    return {name: job.state for name, job in known.items()}


def _print_plan(desk: Desk, document: dict[str, Any]) -> None:
    rows = (
        (job["ref"], job["key"], State(job["state"]), " | ".join(", ".join(gate["needs"]) for gate in job["gates"]))
        for job in document["jobs"]
    )
    desk.output.table(("job", "key", "state", "after"), rows)
    for each in document["satisfied"]:
        desk.output.line(f"{each['app']}/{each['key']} need not run: {each['why']}", style="bright_black")
    total = f"{len(document['jobs'])} jobs would run"
    estimate = f", about {document['estimated_s']:.0f} s of work" if document.get("estimated_s") else ""
    desk.output.line(f"{total}{estimate}.")


def _plan_options(parser: argparse.ArgumentParser) -> None:
    submission_options(parser)
    parser.add_argument("--facts", metavar="FILE", help="JSON that replaces what the ledger knows")
    parser.add_argument("--now", metavar="T", type=datetime.fromisoformat, help="plan as of this time")


def _graph_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", nargs="?")
    parser.add_argument("key", nargs="?", help="one job's live graph instead of the apps'")
    parser.add_argument("--format", choices=[*FORMATS], default="mermaid")
    parser.add_argument("-o", "--output", metavar="FILE")


COMMANDS = (
    Command(word="plan", help="what a submission would come to", run=plan, options=_plan_options),
    Command(word="parents", help="the parents of a job, by alternative", run=parents, options=job_options),
    Command(word="children", help="the children of a job", run=children, options=job_options),
    Command(word="graph", help="draw the apps, or one job's live graph", run=graph, options=_graph_options),
)
