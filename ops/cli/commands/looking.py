"""Commands that show what is: ls, show, why, logs, submissions, workers."""

import argparse
import time
from typing import Any

from jobs.durations import parse_instant
from jobs.errors import BadRequest
from jobs.states import TERMINAL, State
from ledger.reads import dossier, fleet, listing, obstacles, progress
from ops.cli.command import Command, Options
from ops.cli.desk import Desk
from ops.cli.naming import job_options, named_job
from ops.dossier import as_document
from ops.why import explain

FOLLOW_EVERY_S = 0.3


def ls(desk: Desk, options: Options) -> int:
    wanted = listing.Filter(
        app=options.on_app,
        states=tuple(State(word) for word in options.state or ()),
        submission=options.submission,
        since=options.since,
        limit=options.limit,
    )
    found = desk.ledger.transact(lambda tx: listing.jobs(tx, wanted))
    if desk.output.as_json:
        desk.output.document(found)
    else:
        rows = ((job.app, job.key, job.state, job.round, _when(job.changed_at)) for job in found)
        desk.output.table(("app", "key", "state", "round", "since"), rows)
    return 0


def show(desk: Desk, options: Options) -> int:
    found = _dossier(desk, options)
    if desk.output.as_json:
        desk.output.document(as_document(found))
        return 0
    job = found.job
    desk.output.table(("job", "state", "round", "fails", "timeouts", "losses", "since"), [
        (job.name, job.state, job.round, job.fails, job.timeouts, job.losses, _when(job.changed_at))
    ])
    desk.output.line()
    desk.output.table(
        ("at", "from", "to", "by", "round", "note"),
        ((_when(step.at), step.source, State(step.target), step.by, step.round, step.note) for step in found.history),
    )
    for heading, relatives in (("parents", found.parents), ("children", found.children)):
        if relatives:
            desk.output.line()
            desk.output.table((heading, "state"), ((f"{each.app}/{each.key}", each.state) for each in relatives))
    return 0


def logs(desk: Desk, options: Options) -> int:
    """What the rounds printed. With --follow, what is to come as well; a run's output is kept when it ends."""
    shown: set[int] = set()
    while True:
        found = _dossier(desk, options)
        for each in found.rounds:
            if each.executed_at and each.claim not in shown and options.round in (None, each.round):
                shown.add(each.claim)
                _show_round(desk, each)
        if not options.follow or found.job.state in TERMINAL:
            return 0
        time.sleep(FOLLOW_EVERY_S)


def why(desk: Desk, options: Options) -> int:
    from broker.messages import PLANNER

    name = named_job(desk, options)
    facts = desk.ledger.transact(lambda tx: obstacles.obstacles(tx, name, planner_queue=PLANNER))
    answer = explain(name, facts)
    if desk.output.as_json:
        desk.output.document(answer)
        return 0
    desk.output.line(answer.because)
    for each in answer.waits_for:
        desk.output.line(f"  waits for {each.what}" + (f", since {_when(each.since)}" if each.since else ""))
    if answer.remedy:
        desk.output.line(f"  {answer.remedy}", style="bold")
    return 0


def submissions(desk: Desk, options: Options) -> int:
    found = desk.ledger.transact(lambda tx: progress.recent(tx, options.limit))
    if desk.output.as_json:
        desk.output.document(found)
    else:
        rows = ((each.id, each.app, each.state, _when(each.received_at), each.reason) for each in found)
        desk.output.table(("submission", "app", "state", "received", "reason"), rows)
    return 0


def workers(desk: Desk, options: Options) -> int:
    found = desk.ledger.transact(fleet.workers)
    if desk.output.as_json:
        desk.output.document(found)
    else:
        rows = (
            (f"{each.host}:{each.pid}", ", ".join(each.queues) or "all", each.running, "yes" if each.alive else "lost")
            for each in found
        )
        desk.output.table(("worker", "queues", "running", "alive"), rows)
    return 0


def _dossier(desk: Desk, options: Options) -> dossier.Dossier:
    name = named_job(desk, options)
    found = desk.ledger.transact(lambda tx: dossier.dossier(tx, name))
    if found is None:
        raise BadRequest(
            f"The ledger has no job {name}.", advice=f"Submit it with `sluice submit {name.app} {name.key}`."
        )
    return found


def _show_round(desk: Desk, each: dossier.Round) -> None:
    if desk.output.as_json:
        desk.output.document(each)
        return
    desk.output.line(f"round {each.round} on {each.worker}: {each.ending}", style="bold")
    for text, style in ((each.output, ""), (each.stderr, "yellow"), (each.error, "red")):
        if text:
            desk.output.line(text.rstrip("\n"), style=style)


def _when(moment: Any) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment else ""


def _ls_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--app", dest="on_app", metavar="APP")
    parser.add_argument("--state", action="append", choices=[str(state) for state in State], metavar="STATE")
    parser.add_argument("--submission", metavar="ID")
    parser.add_argument("--since", type=_instant, metavar="T")
    parser.add_argument("--limit", type=int, default=100, metavar="N")


def _logs_options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    parser.add_argument("--round", type=int, metavar="N")
    parser.add_argument("--follow", action="store_true")


def _instant(text: str) -> Any:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=30, metavar="N")


COMMANDS = (
    Command(word="ls", help="list jobs, the last changed first", run=ls, options=_ls_options),
    Command(word="show", help="everything about one job", run=show, options=job_options),
    Command(word="logs", help="what a job printed", run=logs, options=_logs_options),
    Command(word="why", help="why a job is in its state", run=why, options=job_options),
    Command(word="submissions", help="list submissions, the newest first", run=submissions, options=_limit),
    Command(word="workers", help="who is there, and what they hold", run=workers),
)
